"""Applying a method to cases: part by part, and adding up; all parts at once, if the method takes several."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from whylight.core.arrays import Floats
from whylight.core.errors import ModelError
from whylight.core.inputs import Settings
from whylight.core.registry import Spec
from whylight.core.scores import Scores
from whylight.explaining import provide
from whylight.explaining.case import Case
from whylight.explaining.provide import ViewedPart
from whylight.views.classifier import Request
from whylight.views.view import View

GAP_SHARE, GAP_FLOOR = 0.05, 1e-4
"""A completeness gap is small up to this share of the scores' total size, and up to rounding."""
Answer = tuple[ViewedPart, Scores]
"""A part of an input, and what a method says of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """What a method gave.

    Attributes:
        scores: `[targets, features]`, or one row where the targets share it.
        completeness_gap: Per target, where the method promises completeness.
        settings: The settings, with what `auto` stood for.
        class_specific: Whether each target has its own row.
        signed: Whether negative scores mean evidence against the target.
        notes: What the method has to say.
        interrupted: Whether Ctrl-C ended the work early.
    """

    scores: Floats
    completeness_gap: tuple[float, ...] | None
    settings: Settings
    class_specific: bool
    signed: bool
    notes: tuple[str, ...]
    interrupted: bool = False


def apply(case: Case, spec: Spec, settings: Settings, request: Request) -> Applied:
    """Apply a method, whose settings are complete, to every part of a case and add up."""
    return apply_together([(case, request)], spec, settings)[0]


@torch.inference_mode(mode=False)
def apply_together(asked: Sequence[tuple[Case, Request]], spec: Spec, settings: Settings) -> list[Applied]:
    """Apply a method to several cases; one that takes several views at once gets those of all of them."""
    if not spec.together:
        return [
            _added_up(case, spec, settings, request, _one_by_one(case, spec, settings, request))
            for case, request in asked
        ]
    parts = [list(provide.viewed_parts(case, spec, request)) for case, request in asked]
    views = [view for own in parts for part in own for view in part.views]
    found = spec.function(views, **_resolved(settings, views))
    if len(found) != len(views):
        raise ModelError(f"'{spec.name}' was given {len(views)} texts and windows and returned scores of {len(found)}.")
    answers = iter(found)
    return [
        _added_up(case, spec, settings, request, [(part, _as_scores(next(answers))) for part in own])
        for (case, request), own in zip(asked, parts, strict=True)
    ]


def _one_by_one(case: Case, spec: Spec, settings: Settings, request: Request) -> Iterator[Answer]:
    """Yield what a method says of each part, one after the other: views of windows are not held together."""
    for part in provide.viewed_parts(case, spec, request):
        found = _as_scores(spec.function(*part.views, **_resolved(settings, part.views)))
        yield part, replace(found, values=part.views[0].spread(found.values))


def _added_up(case: Case, spec: Spec, settings: Settings, request: Request, answers: Iterable[Answer]) -> Applied:
    """Add up what a method says of the parts of a case."""
    n_targets, specific = len(request.targets), bool(spec.facts["class_specific"])
    scores, gap = np.zeros((n_targets, case.encoded.n_features)), np.zeros(n_targets)
    promised, signed, notes, interrupted = True, bool(spec.facts["signed"]), _windows_alone(case, spec), False
    for part, own in answers:
        specific = specific or any(view.class_specific for view in part.views)
        settings = {**_resolved(settings, part.views), **own.resolved}
        expected = (part.targets.stop - part.targets.start if specific else 1, len(part.features))
        if own.values.shape != expected:
            raise ModelError(f"'{spec.name}' returned shape {own.values.shape} instead of {expected}.")
        scores[part.targets, part.features] += own.values * part.weights
        promised = promised and part.complete and own.gap is not None
        if promised and own.gap is not None:
            gap[part.targets] += own.gap * part.weights[0]
        signed = signed if own.signed is None else own.signed
        interrupted = interrupted or own.interrupted
        notes += own.notes
    rows = n_targets if specific else 1
    missed = tuple(gap[:rows].tolist()) if promised else None
    return Applied(scores[:rows], missed, settings, specific, signed, tuple(dict.fromkeys(notes)), interrupted)


def large_gaps(applied: Applied) -> list[tuple[int, float, float]]:
    """Return the targets whose completeness gap is not small: number, gap, and gap as a share of the scores' size."""
    found = []
    for number, (gap, row) in enumerate(zip(applied.completeness_gap or (), applied.scores, strict=False)):
        size = float(np.abs(row).sum())
        if abs(gap) > max(GAP_FLOOR, GAP_SHARE * size):
            found.append((number, gap, abs(gap) / size if size else float("inf")))
    return found


def _windows_alone(case: Case, spec: Spec) -> list[str]:
    """Say that the method looks at each window of a long text alone, where nobody asked for that."""
    windows = len(case.encoded.windows)
    if windows <= 1 or case.long == "segments" or not provide.explained_alone(case, spec):
        return []
    return [f"'{spec.name}' explains each of the {windows} windows as a text of its own"]


def _as_scores(found: Scores | Floats) -> Scores:
    """Return what a method gave; plain numbers are scores of which there is no more to say."""
    own = found if isinstance(found, Scores) else Scores(found)
    return replace(own, values=np.asarray(own.values, dtype=np.float64))


def _resolved(settings: Settings, views: Sequence[View]) -> Settings:
    """Name in the receipt what `auto` stands for."""
    known = {name: value for view in views for name, value in view.auto.items()}
    return {name: known.get(name, value) if value == "auto" else value for name, value in settings.items()}
