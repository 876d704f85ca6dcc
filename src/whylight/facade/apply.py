"""Applying a method to a case: part by part, and adding up."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from whylight.core.arrays import Floats
from whylight.core.errors import ModelError
from whylight.core.explanation import JsonValue
from whylight.core.registry import Spec
from whylight.facade import provide
from whylight.facade.case import Case
from whylight.views.classifier import Request
from whylight.views.game import Game
from whylight.views.gradient import GradientView
from whylight.views.trace import TraceView

Settings = Mapping[str, JsonValue]

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
    """

    scores: Floats
    completeness_gap: tuple[float, ...] | None
    settings: Settings
    class_specific: bool


@torch.inference_mode(mode=False)
def apply(case: Case, spec: Spec, settings: Settings, request: Request, *, remover: str) -> Applied:
    """Apply a method, whose settings are complete, to every part of a case and add up."""
    n_targets, specific = len(request.targets), bool(spec.facts["class_specific"])
    scores, gap = np.zeros((n_targets, case.encoded.n_features)), np.zeros(n_targets)
    promised = spec.facts["complete"] and settings.get("pooling", "sum") == "sum"
    for part in provide.parts(case, spec, request, remover=remover):
        specific = specific or any(isinstance(view, TraceView) and view.class_specific for view in part.views)
        settings = _resolved(settings, part.views)
        own = np.asarray(spec.function(*part.views, **settings), dtype=np.float64)
        expected = (part.targets.stop - part.targets.start if specific else 1, len(part.features))
        if own.shape != expected:
            raise ModelError(f"'{spec.name}' returned shape {own.shape} instead of {expected}.")
        scores[part.targets, part.features] += own * part.weights
        missed = _gap(own, part.views[0], settings) if promised and part.complete else None
        promised = missed is not None
        if missed is not None:
            gap[part.targets] += missed * part.weights[0]
    rows = n_targets if specific else 1
    return Applied(scores[:rows], tuple(gap[:rows].tolist()) if promised else None, settings, specific)


def large_gaps(applied: Applied) -> list[tuple[int, float, float]]:
    """Return the targets whose completeness gap is not small: number, gap, and gap as a share of the scores' size."""
    found = []
    for number, (gap, row) in enumerate(zip(applied.completeness_gap or (), applied.scores, strict=False)):
        size = float(np.abs(row).sum())
        if abs(gap) > max(GAP_FLOOR, GAP_SHARE * size):
            found.append((number, gap, abs(gap) / size if size else float("inf")))
    return found


def _resolved(settings: Settings, views: tuple[Any, ...]) -> Settings:
    """Name in the receipt the baseline that `auto` stands for."""
    for view in views:
        if isinstance(view, GradientView) and "baseline" in settings:
            name: Any = settings["baseline"]
            return {**settings, "baseline": view.baseline_name(name)}
    return settings


def _gap(own: Floats, view: Game | GradientView | TraceView, settings: Mapping[str, Any]) -> Floats | None:
    """Return by how much scores `[targets, features]` miss what they are to sum to, `[targets]`, if they are to."""
    if isinstance(view, GradientView) and view.gap is not None:  # features are not all that the score is split among
        return view.gap
    if isinstance(view, TraceView):
        return view.gap
    gap: Floats = own.sum(axis=1) - _difference(view, settings)
    return gap


def _difference(view: Game | GradientView, settings: Mapping[str, Any]) -> Floats:
    """Return score(input) - score(baseline), what complete scores sum to."""
    if isinstance(view, Game):
        return view.full - view.empty
    return view.score(view.inputs) - view.score(view.baseline(settings["baseline"]))
