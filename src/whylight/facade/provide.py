"""Building the views that a method consumes, and putting the answers of several windows together.

A document is one function, the mean of its windows' logits. A game sees that function whole. The gradient of a mean
at a word is the mean of the gradients of the windows that hold it, and every path method is linear in the score, so
that a gradient method may look at one window after the other: its scores are summed and divided by their number.
Attention exists within a window only: its scores are blended linearly where windows overlap. `long="segments"` explains
each window as a text of its own, and blends.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.encoded import Encoded
from whylight.core.errors import IncompatibleError
from whylight.core.limits import claim
from whylight.core.registry import Spec
from whylight.facade.case import Case
from whylight.views.classifier import Classifier, Differentiable, Request, Traceable
from whylight.views.game import Game
from whylight.views.gradient import GradientView
from whylight.views.trace import TraceView

FLOAT_BYTES = 8
GRADIENT_BYTES = 2**28
"""Memory for the gradients of several targets; beyond, targets are explained some at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The views of one stretch of the input, and how its scores enter the whole.

    Attributes:
        views: One view for each type that the method consumes.
        features: Which features of the whole it holds.
        weights: What each of its scores is multiplied with before they are added up, `[features]`.
        complete: Whether the sum over all parts keeps a method's promise of completeness.
        targets: Which of the targets it is about.
    """

    views: tuple[Any, ...]
    features: Ints
    weights: Floats
    complete: bool
    targets: slice


def parts(case: Case, spec: Spec, request: Request, *, remover: str) -> Iterator[Part]:
    """Yield the views that a method needs, one part after the other."""
    encoded, alone = case.encoded, case.long == "segments"
    n_windows = len(encoded.windows)
    if n_windows <= 1 or (spec.consumes == (Game,) and not alone):
        everything = np.arange(encoded.n_features), np.ones(encoded.n_features)
        for views, targets in _views(case, encoded, spec, request, remover):
            yield Part(views, *everything, complete=True, targets=targets)
        return
    if not alone and Game in spec.consumes:
        raise IncompatibleError(f"'{spec.name}' mixes views that a long text cannot be cut for; use --long segments.")
    if not alone and request.space != "logit":
        raise IncompatibleError(
            f"the score '{request.space}' of a long text is not a sum over its windows; "
            f"use --score logit or --long segments with '{spec.name}'."
        )
    # a method that splits the logit itself is as linear in it as a gradient is
    summed = not alone and (TraceView not in spec.consumes or bool(spec.facts["complete"]))
    weights = None if summed else blend(encoded)
    for number in range(n_windows):
        segment, held = encoded.segment(number)
        share = (np.ones(len(held)) if weights is None else weights[number, held]) / (1 if alone else n_windows)
        for views, targets in _views(case, segment, spec, request, remover):
            yield Part(views, held, share, complete=summed, targets=targets)


def game(case: Case, request: Request, *, remover: str, encoded: Encoded | None = None) -> Game:
    """Build the game of a case, or of one segment of it."""
    whole = encoded or case.encoded
    labels, columns = case.classifier.labels, request.columns
    # but under a softmax, the score of a label does not depend on the others
    apart = labels.head != "softmax" or request.space == "logit"
    outcomes = case.classifier.outcomes(
        whole, remover=remover, cache=case.cache, meter=request.meter, columns=columns if apart else None
    )

    def value(keep: Bools) -> Floats:
        scores = labels.scores(outcomes(keep), request.space)
        return scores if apart else scores[:, columns]

    blocks, n_features = whole.blocks, whole.n_features
    several = blocks if len(blocks) > 1 else None
    return Game(value, n_features=n_features, n_targets=len(columns), blocks=several, meter=request.meter)


def blend(encoded: Encoded) -> Floats:
    """Return how much each window says about each feature, `[windows, features]`; over an overlap it moves linearly."""
    n_windows, n_features = len(encoded.windows), encoded.n_features
    claim(2 * FLOAT_BYTES * n_windows * n_features, f"blending {n_windows} windows of {n_features:,} features")
    weights = np.zeros((n_windows, n_features))
    held = [window.features for window in encoded.windows]
    for number, features in enumerate(held):
        weights[number, features] = 1.0
    constant = _in_every_window(encoded)  # the short text of a pair: all windows say as much about it
    for number in range(1, len(held)):
        shared = np.setdiff1d(np.intersect1d(held[number - 1], held[number]), constant)
        later = np.arange(len(shared)) / max(1, len(shared))
        weights[number - 1, shared] *= 1 - later
        weights[number, shared] *= later
    total = weights.sum(axis=0)
    return weights / np.where(total > 0, total, 1.0)


def _in_every_window(encoded: Encoded) -> Ints:
    """Return the features of a part that stands whole in every window, as the shorter text of a pair does."""
    part = np.asarray([span.part for span in encoded.spans])
    windows = np.bincount(np.concatenate([window.features for window in encoded.windows]), minlength=len(part))
    everywhere, seen = np.flatnonzero(windows == len(encoded.windows)), np.flatnonzero(windows)
    whole = [p for p in np.unique(part) if np.isin(seen[part[seen] == p], everywhere).all()]
    return everywhere[np.isin(part[everywhere], whole)]


def _views(
    case: Case, encoded: Encoded, spec: Spec, request: Request, remover: str
) -> Iterator[tuple[tuple[Any, ...], slice]]:
    """Yield the views of some targets and which ones; all at once, unless their gradients would fill the memory."""
    n_targets = step = len(request.targets)
    built: dict[type, Any] = {}
    if GradientView in spec.consumes:
        built[GradientView] = _view(GradientView, case, encoded, request, remover)
        step = max(1, GRADIENT_BYTES // built[GradientView].inputs.nbytes)
    for start in range(0, n_targets, step):
        some = slice(start, min(start + step, n_targets))
        own = replace(request, targets=request.targets[some])
        known = built if step >= n_targets else {}
        yield tuple(known.get(kind) or _view(kind, case, encoded, own, remover) for kind in spec.consumes), some


def _view(kind: type, case: Case, encoded: Encoded, request: Request, remover: str) -> Any:  # noqa: ANN401
    classifier: Classifier = case.classifier
    if kind is Game:
        return game(case, request, remover=remover, encoded=encoded)
    if kind is GradientView and isinstance(classifier, Differentiable):
        return classifier.gradient_view(encoded, request)
    if kind is TraceView and isinstance(classifier, Traceable):
        return classifier.trace_view(encoded, request)
    raise IncompatibleError(f"{classifier.kind} cannot provide a {kind.__name__}.")
