"""Applying a method to a case: part by part, and adding up."""

from dataclasses import dataclass

import numpy as np
import torch

from whylight.core.arrays import Floats
from whylight.core.errors import ModelError
from whylight.core.inputs import Settings
from whylight.core.registry import Spec
from whylight.core.scores import Scores
from whylight.explaining import provide
from whylight.explaining.case import Case
from whylight.views.classifier import Request
from whylight.views.view import View

GAP_SHARE, GAP_FLOOR = 0.05, 1e-4
"""A completeness gap is small up to this share of the scores' total size, and up to rounding."""


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
    """

    scores: Floats
    completeness_gap: tuple[float, ...] | None
    settings: Settings
    class_specific: bool
    signed: bool
    notes: tuple[str, ...]


@torch.inference_mode(mode=False)
def apply(case: Case, spec: Spec, settings: Settings, request: Request) -> Applied:
    """Apply a method, whose settings are complete, to every part of a case and add up."""
    n_targets, specific = len(request.targets), bool(spec.facts["class_specific"])
    scores, gap = np.zeros((n_targets, case.encoded.n_features)), np.zeros(n_targets)
    promised, signed, notes = True, bool(spec.facts["signed"]), list[str]()
    for part in provide.viewed_parts(case, spec, request):
        specific = specific or any(view.class_specific for view in part.views)
        settings = _resolved(settings, part.views)
        own = _method_scores(spec, part.views, settings)
        expected = (part.targets.stop - part.targets.start if specific else 1, len(part.features))
        if own.values.shape != expected:
            raise ModelError(f"'{spec.name}' returned shape {own.values.shape} instead of {expected}.")
        scores[part.targets, part.features] += own.values * part.weights
        promised = promised and part.complete and own.gap is not None
        if promised and own.gap is not None:
            gap[part.targets] += own.gap * part.weights[0]
        signed = signed if own.signed is None else own.signed
        notes += own.notes
    rows = n_targets if specific else 1
    missed = tuple(gap[:rows].tolist()) if promised else None
    return Applied(scores[:rows], missed, settings, specific, signed, tuple(dict.fromkeys(notes)))


def large_gaps(applied: Applied) -> list[tuple[int, float, float]]:
    """Return the targets whose completeness gap is not small: number, gap, and gap as a share of the scores' size."""
    found = []
    for number, (gap, row) in enumerate(zip(applied.completeness_gap or (), applied.scores, strict=False)):
        size = float(np.abs(row).sum())
        if abs(gap) > max(GAP_FLOOR, GAP_SHARE * size):
            found.append((number, gap, abs(gap) / size if size else float("inf")))
    return found


def _method_scores(spec: Spec, views: tuple[View, ...], settings: Settings) -> Scores:
    """Run a method; plain numbers are scores of which there is no more to say."""
    found = spec.function(*views, **settings)
    own = found if isinstance(found, Scores) else Scores(found)
    return Scores(np.asarray(own.values, dtype=np.float64), own.gap, own.signed, own.notes)


def _resolved(settings: Settings, views: tuple[View, ...]) -> Settings:
    """Name in the receipt what `auto` stands for."""
    known = {name: value for view in views for name, value in view.auto.items()}
    return {name: known.get(name, value) if value == "auto" else value for name, value in settings.items()}
