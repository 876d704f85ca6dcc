"""Building the views that a method consumes, and putting the answers of several windows together.

A document is one function, the mean of its windows' logits. Games and gradient methods see that function whole. What
was traced exists within a window only: scores are divided by the number of windows and blended linearly where windows
overlap; a method that splits the logit itself is summed. `long="segments"` explains each window as a text of its own,
and blends.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.encoded import NO_FEATURE, Encoded
from whylight.core.errors import IncompatibleError
from whylight.core.limits import claim
from whylight.core.registry import Spec
from whylight.facade.case import Case
from whylight.views.classifier import Classifier, Differentiable, Request, Traceable
from whylight.views.game import Game
from whylight.views.gradient import GradientView
from whylight.views.positions import Positions
from whylight.views.trace import TraceView
from whylight.views.windows import WindowsGradientView

FLOAT_BYTES = 8
GRADIENT_BYTES = 2**28
"""Memory for the gradients of several targets; beyond, targets are explained some at a time."""


_Document = tuple[WindowsGradientView | None, Request, slice]
"""A text in several windows as one function, if a gradient is wanted; for some of the targets, and for which ones."""


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
    alone = case.long == "segments"
    if len(case.encoded.windows) <= 1 or (spec.consumes == (Game,) and not alone):
        for views, targets in _views(case, case.encoded, spec, request, remover):
            yield _whole(case, views, targets)
    elif alone:
        yield from _segments(case, spec, request, remover)
    else:
        _check_cut(spec, request)
        yield from _windows(case, spec, request, remover)


def _whole(case: Case, views: tuple[Any, ...], targets: slice) -> Part:
    n_features = case.encoded.n_features
    return Part(views, np.arange(n_features), np.ones(n_features), complete=True, targets=targets)


def _segments(case: Case, spec: Spec, request: Request, remover: str) -> Iterator[Part]:
    """Yield each window as a text of its own, blended with its neighbours."""
    weights = blend(case.encoded)
    for number in range(len(case.encoded.windows)):
        segment, held = case.encoded.segment(number)
        for views, targets in _views(case, segment, spec, request, remover):
            yield Part(views, held, weights[number, held], complete=False, targets=targets)


def _check_cut(spec: Spec, request: Request) -> None:
    if Game in spec.consumes:
        raise IncompatibleError(f"'{spec.name}' mixes views that a long text cannot be cut for; use --long segments.")
    if request.space != "logit":
        raise IncompatibleError(
            f"the score '{request.space}' of a long text is not a sum over its windows; "
            f"use --score logit or --long segments with '{spec.name}'."
        )


def _windows(case: Case, spec: Spec, request: Request, remover: str) -> Iterator[Part]:
    """Yield what is to be known of a text in several windows: its gradient whole, what was traced window by window."""
    if TraceView not in spec.consumes:
        for document, _, targets in _documents(case, request):
            yield _whole(case, (document,), targets)
        return
    encoded, n_windows = case.encoded, len(case.encoded.windows)
    # a method that splits the logit itself is as linear in it as a gradient is
    summed = bool(spec.facts["complete"])
    weights = None if summed else blend(encoded)
    undivided: Iterable[_Document] = [(None, request, slice(0, len(request.targets)))]
    for document, own, targets in _documents(case, request) if GradientView in spec.consumes else undivided:
        for number in range(n_windows):
            segment, held = encoded.segment(number)
            known: dict[type, Any] = {} if document is None else {GradientView: document.window(number)}
            views = tuple(known.get(kind) or _view(kind, case, segment, own, remover) for kind in spec.consumes)
            share = np.ones(len(held)) if weights is None else weights[number, held]
            yield Part(views, held, share / n_windows, complete=summed, targets=targets)


def _documents(case: Case, request: Request) -> Iterator[_Document]:
    """Yield a text in several windows as one function, for as many targets at a time as fit into memory."""
    encoded, places = case.encoded, case.encoded.places()
    feature = np.full(1 + max(int(place.max()) for place in places), NO_FEATURE)
    for window, place in zip(encoded.windows, places, strict=True):
        feature[place] = window.feature

    def document(own: Request) -> WindowsGradientView:
        segments = [encoded.segment(number)[0] for number in range(len(encoded.windows))]
        windows = [_view(GradientView, case, segment, own, "") for segment in segments]
        positions = Positions(torch.as_tensor(feature).to(windows[0].inputs.device), encoded.n_features, own.pieces)
        return WindowsGradientView(windows, places, positions=positions)

    whole = document(request)
    for own, some in _some_targets(request, whole.inputs.nbytes):
        yield (whole if own is request else document(own)), own, some


def game(case: Case, request: Request, *, remover: str, encoded: Encoded | None = None) -> Game:
    """Build the game of a case, or of one segment of it."""
    whole = encoded or case.encoded
    labels, columns = case.classifier.labels, request.columns
    # only a softmax makes the score of a label depend on the other labels, and logits come before it
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
    built: dict[type, Any] = {}
    each = 0
    if GradientView in spec.consumes:
        built[GradientView] = _view(GradientView, case, encoded, request, remover)
        each = built[GradientView].inputs.nbytes
    for own, some in _some_targets(request, each):
        known = built if own is request else {}
        yield tuple(known.get(kind) or _view(kind, case, encoded, own, remover) for kind in spec.consumes), some


def _some_targets(request: Request, each: int) -> Iterator[tuple[Request, slice]]:
    """Yield requests for some of the targets and which ones; the request itself if `each` bytes for all of them fit."""
    n_targets = len(request.targets)
    step = max(1, GRADIENT_BYTES // max(1, each))
    if step >= n_targets:
        yield request, slice(0, n_targets)
        return
    for start in range(0, n_targets, step):
        some = slice(start, min(start + step, n_targets))
        yield replace(request, targets=request.targets[some]), some


def _view(kind: type, case: Case, encoded: Encoded, request: Request, remover: str) -> Any:  # noqa: ANN401
    classifier: Classifier = case.classifier
    if kind is Game:
        return game(case, request, remover=remover, encoded=encoded)
    if kind is GradientView and isinstance(classifier, Differentiable):
        return classifier.gradient_view(encoded, request)
    if kind is TraceView and isinstance(classifier, Traceable):
        return classifier.trace_view(encoded, request)
    raise IncompatibleError(f"{classifier.kind} cannot provide a {kind.__name__}.")
