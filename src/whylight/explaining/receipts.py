"""Explaining cases by one method: what it is asked, what it gives, and the receipt of that."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylight.core.errors import ModelError
from whylight.core.explanation import Explanation, Provenance
from whylight.core.inputs import Settings
from whylight.core.interruption import Interrupted, postponed
from whylight.core.labels import CLIP, Target
from whylight.core.registry import Spec
from whylight.explaining.apply import Applied, apply_together, large_gaps
from whylight.explaining.case import Case
from whylight.explaining.options import Options, removal_of
from whylight.explaining.removing import score_for
from whylight.explaining.variants import removes
from whylight.views.classifier import Request


def explain_case(case: Case, spec: Spec, settings: Settings, options: Options) -> Explanation:
    """Explain a case by one method, whose settings are complete."""
    return explain_cases([case], spec, settings, [options])[0]


def explain_cases(
    cases: Sequence[Case], spec: Spec, settings: Settings, options: Sequence[Options]
) -> list[Explanation]:
    """Explain some cases by one method, whose settings are complete; at once, if it takes several.

    Args:
        cases: The cases, in front of one classifier.
        spec: The method.
        settings: Its settings.
        options: What is asked of the method in each case.

    Raises:
        Interrupted: After Ctrl-C, with the explanations by what was found until then, from a method that has some.
    """
    if not spec.together and len(cases) > 1:
        return [explain_case(case, spec, settings, own) for case, own in zip(cases, options, strict=True)]
    asked = [_asked(case, spec, own) for case, own in zip(cases, options, strict=True)]
    started = time.perf_counter()
    with postponed():  # what a method changes on its way is undone, whenever Ctrl-C comes
        applied = apply_together([(one.case, one.request) for one in asked], spec, settings)
    seconds = time.perf_counter() - started
    passes = sum(one.passes for one in asked)
    explained = [
        _explanation(one, spec, own, seconds * (one.passes / passes if passes else 1 / len(asked)))
        for one, own in zip(asked, applied, strict=True)
    ]
    if any(one.interrupted for one in applied):
        raise Interrupted(explained)
    return explained


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """What a method is asked about a case, and what there is to note about the targets."""

    case: Case
    request: Request
    notes: list[str]

    @property
    def passes(self) -> int:
        """Rows that the case needed; its share of a time that several have in common."""
        return self.request.meter.forward_passes


def _asked(case: Case, spec: Spec, options: Options) -> _Question:
    removal = removal_of(case.classifier, options)
    space = score_for(spec, case.classifier, options.score, removal)
    targets, notes = case.targets(options.target)
    if options.remover is not None and not removes(spec):
        notes = [*notes, f"'{spec.name}' removes no features: it does not use the remover '{options.remover}'"]
    return _Question(case, Request(targets, space, options.pieces, removal=removal, cache=case.cache), notes)


def _explanation(asked: _Question, spec: Spec, applied: Applied, seconds: float) -> Explanation:
    """Write the receipt of what a method gave."""
    case, request = asked.case, asked.request
    removal, targets, notes = request.removing, request.targets, asked.notes
    if not np.isfinite(applied.scores).all():
        raise ModelError(f"'{spec.name}' produced a score that is not a finite number.")
    if request.space == "log_odds":
        notes = [*notes, f"probabilities are clipped to [{CLIP:g}, 1 - {CLIP:g}] before log-odds are taken"]
    if removal.draws and request.meter.asked:
        notes = [*notes, f"probabilities of what '{removal.name}' draws are averaged before they are scored"]
    notes = [*notes, *(removal.notes if request.meter.asked else ())]
    notes = [*notes, *_gap_notes(applied, targets)]
    receipt = Provenance(
        model=case.classifier.identity,
        method=spec.name,
        settings=applied.settings,
        unit=case.encoded.unit,
        remover=removal.name if request.meter.asked else None,
        remover_settings=removal.settings if request.meter.asked else {},
        score=request.space,
        signed=applied.signed,
        class_specific=applied.class_specific,
        forward_passes=request.meter.forward_passes,
        backward_passes=request.meter.backward,
        seconds=seconds + request.meter.saved,
        completeness_gap=applied.completeness_gap,
        notes=(*case.encoded.notes, *case.notes, *notes, *applied.notes, *dict.fromkeys(request.meter.notes)),
    )
    return Explanation(case.encoded.example, case.encoded.places, targets, applied.scores, case.prediction, receipt)


def _gap_notes(applied: Applied, targets: Sequence[Target]) -> list[str]:
    """Say in words where scores miss what they should sum to by more than a little."""
    how = "; take more steps" if "steps" in applied.settings else ""
    return [
        f"the scores for '{targets[number].label}' miss what they should sum to by {gap:.3g}, "
        + (f"{share:.0%} of their total size{how}" if np.isfinite(share) else "and are all 0")
        for number, gap, share in large_gaps(applied)
    ]
