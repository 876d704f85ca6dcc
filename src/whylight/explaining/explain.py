"""Explaining: the function behind `wl.explain` and `whylight explain`."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar, overload

import numpy as np

from whylight.core.encoded import LONG, UNITS, Long, Unit
from whylight.core.errors import ModelError, SettingError, unknown
from whylight.core.explanation import Explanation, Provenance
from whylight.core.inputs import Settings
from whylight.core.interruption import postponed
from whylight.core.labels import CLIP, ScoreSpace, Target, TargetSpec, check_score_space
from whylight.core.limits import limited
from whylight.core.registry import METHODS, Spec
from whylight.explaining.apply import Applied, apply, large_gaps
from whylight.explaining.bar import progress_bar
from whylight.explaining.case import Case, open_case
from whylight.explaining.compatible import obstacle, require, require_score
from whylight.explaining.given import Given, as_example, given_inputs
from whylight.explaining.removing import check_score, chosen_removal, default_remover, remover_settings
from whylight.explaining.variants import asks_for_layers, variants
from whylight.views.batch import Removal
from whylight.views.classifier import Classifier, Request
from whylight.views.positions import PIECES, Pieces

T = TypeVar("T", bound=str)
DEFAULTS = ("integrated_gradients", "kernel_shap")
"""What explains where no method is named: the first that works with the classifier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is asked of every method alike; None stands for the classifier's own default.

    Attributes:
        target: Which labels to explain.
        unit: What a feature is.
        remover: What "removed" means.
        score: Which score to explain.
        long: What to do with a text longer than the model reads.
        pieces: How a word's score comes from those of its tokens.
        remover_settings: Settings of the remover.
    """

    target: TargetSpec = "predicted"
    unit: Unit = "word"
    remover: str | None = None
    score: ScoreSpace | None = None
    long: Long = "window"
    pieces: Pieces = "sum"
    remover_settings: Settings = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a name that does not exist, with those that do."""
        choice("unit", self.unit, UNITS)
        choice("long", self.long, LONG)
        choice("pieces", self.pieces, PIECES)
        if self.score is not None:
            check_score_space(self.score)

    @classmethod
    def parse(
        cls, *, target: TargetSpec, unit: str, remover: str | None, score: str | None, long: str, pieces: str
    ) -> "Options":
        """Check what a user typed; a name that does not exist is refused with those that do."""
        return cls(
            target=target,
            unit=choice("unit", unit, UNITS),
            remover=remover,
            score=None if score is None else check_score_space(score),
            long=choice("long", long, LONG),
            pieces=choice("pieces", pieces, PIECES),
        )


@overload
def explain(
    classifier: Classifier,
    inputs: Given | Sequence[Given],
    *,
    method: str | Sequence[str] | None = None,
    target: TargetSpec = ...,
    layer: Literal["all"],
    **options: Any,  # noqa: ANN401  as below
) -> list[Explanation]: ...


@overload
def explain(
    classifier: Classifier,
    inputs: Given,
    *,
    method: str | None = None,
    target: TargetSpec = ...,
    **options: Any,  # noqa: ANN401  as below
) -> Explanation: ...


@overload
def explain(
    classifier: Classifier,
    inputs: Given | Sequence[Given],
    *,
    method: str | Sequence[str] | None = None,
    target: TargetSpec = ...,
    **options: Any,  # noqa: ANN401
) -> list[Explanation]: ...


def explain(  # noqa: PLR0913  the public call: every argument but two is optional and named
    classifier: Classifier,
    inputs: Given | Sequence[Given],
    *,
    method: str | Sequence[str] | None = None,
    target: TargetSpec = "predicted",
    unit: str = "word",
    remover: str | None = None,
    score: str | None = None,
    long: str = "window",
    pieces: str = "sum",
    progress: bool = True,
    budget: float | None = None,
    max_memory: str | None = None,
    **settings: object,
) -> Explanation | list[Explanation]:
    """Say which words made a classifier decide.

    Args:
        classifier: What `wl.load` returned.
        inputs: A text, a pair `(text, text)`, or a list of these.
        method: A method or a list of them; by default `integrated_gradients`, or `kernel_shap` where that does not
            work: with a callable, or a model that has no gradient.
        target: `"predicted"`, `"all"`, a label, an index, or a list of labels and indices.
        unit: `word`, `token` or `sentence`.
        remover: `mask`, `delete`, `pad`, `unk` or `zero`; by default what suits the model.
        score: `logit`, `probability`, `log_odds` or `log_probability`; by default the logit where there is one.
        long: `window`, `segments`, `truncate` or `refuse`, for texts longer than the model reads.
        pieces: `sum`, `max` or `mean` of the scores of a word's tokens.
        progress: Show a progress bar on work that takes longer than two seconds, and announce what takes minutes.
        budget: Seconds; work that takes longer, by an estimate from its first batches, is refused.
        max_memory: Memory that the process may take, e.g. `"4GB"`; work that takes more is refused.
        **settings: Settings of the methods, e.g. `samples=500`; `**{"lime.samples": 200}` is for one of them, and wins.
            `layer="all"` explains at every layer of the model.

    Returns:
        An `Explanation` for one text and at most one method, else a list: all methods of the first text, and so on.
        With `layer="all"` it is a list with one explanation per layer, the first first, where a method has layers.

    Example:
        >>> import whylight as wl
        >>> ex = wl.explain(wl.load(), "A gripping, moving film.", method="occlusion")
        >>> max(ex.as_list(), key=lambda pair: pair[1])[0]
        'gripping'
    """
    options = Options.parse(target=target, unit=unit, remover=remover, score=score, long=long, pieces=pieces)
    several, single = given_inputs(inputs)
    names = [method] if isinstance(method, str) else method
    with limited(budget=budget, max_memory=max_memory):
        explanations = explain_all(
            classifier, several, methods=names, options=options, settings=settings, progress=progress
        )
    one = single and (method is None or isinstance(method, str)) and not asks_for_layers(settings)
    return explanations[0] if one else explanations


def explain_all(
    classifier: Classifier,
    inputs: Iterable[Given],
    *,
    methods: Sequence[str] | None,
    options: Options,
    settings: Mapping[str, object],
    progress: bool = True,
) -> list[Explanation]:
    """Explain every input by every method; all methods of the first input come first.

    Args:
        classifier: The classifier.
        inputs: Texts and pairs.
        methods: Names of methods, or None for the default.
        options: What is asked of every method alike.
        settings: Settings of the methods.
        progress: Show a progress bar on work that takes longer than two seconds.
    """
    specs = [METHODS[name] for name in _names(classifier, methods)]
    for spec in specs:
        require(spec, classifier)
    options, others = with_remover_settings(classifier, options, settings)
    chosen = [one for each in variants(classifier, specs, others) for one in each]
    check_score(classifier, options.score, removal_of(classifier, options))
    examples = [as_example(one) for one in inputs]
    explanations = []
    plan = [(one.name, example.size) for example in examples for one in chosen]
    with progress_bar(len(plan), shown=progress, plan=plan) as step:
        for example in examples:
            case = open_case(classifier, example, unit=options.unit, long=options.long)
            for one in chosen:
                step(one.name)
                explanations.append(explain_case(case, one.spec, one.settings, options))
    return explanations


def explain_case(case: Case, spec: Spec, settings: Settings, options: Options) -> Explanation:
    """Explain a case by one method, whose settings are complete."""
    classifier = case.classifier
    removal = removal_of(classifier, options)
    space = check_score(classifier, options.score, removal)
    require_score(spec, space)
    targets, notes = case.targets(options.target)
    request = Request(targets, space, options.pieces, removal=removal, cache=case.cache)
    started = time.perf_counter()
    with postponed():  # what a method changes on its way is undone, whenever Ctrl-C comes
        applied = apply(case, spec, settings, request)
    seconds = time.perf_counter() - started + request.meter.saved
    if not np.isfinite(applied.scores).all():
        raise ModelError(f"'{spec.name}' produced a score that is not a finite number.")
    if space == "log_odds":
        notes = [*notes, f"probabilities are clipped to [{CLIP:g}, 1 - {CLIP:g}] before log-odds are taken"]
    notes = [*notes, *_gap_notes(applied, targets)]
    receipt = Provenance(
        model=classifier.identity,
        method=spec.name,
        settings=applied.settings,
        unit=options.unit,
        remover=removal.name if request.meter.asked else None,
        remover_settings=removal.settings if request.meter.asked else {},
        score=space,
        signed=applied.signed,
        class_specific=applied.class_specific,
        forward_passes=request.meter.forward_passes,
        backward_passes=request.meter.backward,
        seconds=seconds,
        completeness_gap=applied.completeness_gap,
        notes=(*case.encoded.notes, *case.notes, *notes, *applied.notes, *dict.fromkeys(request.meter.notes)),
    )
    return Explanation(case.encoded.example, case.encoded.places, targets, applied.scores, case.prediction, receipt)


def choice(kind: str, value: str, choices: tuple[T, ...]) -> T:
    """Return the choice that a value names, or raise the error that lists them."""
    for one in choices:
        if one == value:
            return one
    raise unknown(f"value for '{kind}'", value, choices)


def with_remover_settings(
    classifier: Classifier, options: Options, settings: Mapping[str, object]
) -> tuple[Options, dict[str, object]]:
    """Put settings of the remover, `REMOVER.NAME`, into the options; return these, and the settings of others."""
    name = options.remover or default_remover(classifier)
    own, others = remover_settings(settings, [name])
    removal = chosen_removal(classifier, options.remover, {**options.remover_settings, **own[name]})
    return replace(options, remover_settings=removal.settings), others


def removal_of(classifier: Classifier, options: Options) -> Removal:
    """Return what "removed" means by the options of a call."""
    return chosen_removal(classifier, options.remover, options.remover_settings)


def _names(classifier: Classifier, methods: Sequence[str] | None) -> list[str]:
    if methods is None:
        return [next((name for name in DEFAULTS if obstacle(METHODS[name], classifier) is None), DEFAULTS[0])]
    names = list(dict.fromkeys(methods))
    if not names:
        raise SettingError("the list of methods is empty; give at least one.")
    return names


def _gap_notes(applied: Applied, targets: Sequence[Target]) -> list[str]:
    """Say in words where scores miss what they should sum to by more than a little."""
    how = "; take more steps" if "steps" in applied.settings else ""
    return [
        f"the scores for '{targets[number].label}' miss what they should sum to by {gap:.3g}, "
        + (f"{share:.0%} of their total size{how}" if np.isfinite(share) else "and are all 0")
        for number, gap, share in large_gaps(applied)
    ]
