"""Building the views that a method consumes, and putting the answers of several windows together.

A document is one function, the mean of its windows' logits. A view says of itself how a document is put together from
it (`View.joined`): games see the document whole; views of windows that sum become one view of it; what exists within a
window only is divided by the number of windows and blended linearly where windows overlap, but for a method that splits
the logit itself, which is summed. `long="segments"` explains each window as a text of its own, and blends.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from whylight.core.arrays import Floats, Ints
from whylight.core.encoded import Encoded
from whylight.core.errors import IncompatibleError
from whylight.core.labels import ScoreSpace
from whylight.core.limits import claim
from whylight.core.registry import Spec
from whylight.explaining.case import Case
from whylight.views.batch import Removal
from whylight.views.classifier import Classifier, Request, game_of
from whylight.views.game import Game
from whylight.views.view import View, seen_by

FLOAT_BYTES = 8
GRADIENT_BYTES = 2**28
"""Memory for what methods need for each of several targets; beyond, targets are explained some at a time."""

Views = dict[type[View], View]


@dataclass(frozen=True, slots=True, eq=False)
class ViewedPart:
    """The views of one stretch of the input, and how its scores enter the whole.

    Attributes:
        views: One view for each type that the method consumes.
        features: Which features of the whole it holds.
        weights: What each of its scores is multiplied with before they are added up, `[features]`.
        complete: Whether the sum over all parts keeps a method's promise of completeness.
        targets: Which of the targets it is about.
    """

    views: tuple[View, ...]
    features: Ints
    weights: Floats
    complete: bool
    targets: slice


def viewed_parts(case: Case, spec: Spec, request: Request) -> Iterator[ViewedPart]:
    """Yield the views that a method needs, one part after the other."""
    alone = explained_alone(case, spec)
    if len(case.encoded.windows) <= 1 or (not alone and all(kind.joined == "whole" for kind in spec.consumes)):
        for views, targets in _views(case.classifier, case.encoded, spec, request):
            yield _whole_part(case, views, targets)
    elif alone:
        yield from _segments(case, spec, request)
    else:
        _check_cut(spec, request, case.classifier.labels.linear)
        yield from _windows(case, spec, request)


def explained_alone(case: Case, spec: Spec) -> bool:
    """Say whether each window of a long text is explained as a text of its own: asked for, or the method's own way."""
    return case.long == "segments" or bool(spec.facts["alone"])


def view(kind: type[View], classifier: Classifier, encoded: Encoded, request: Request) -> View:
    """Look at an input in one way, or say that the classifier does not offer it."""
    offer = classifier.offers.get(kind)
    if offer is None:
        raise IncompatibleError(f"{classifier.kind} gives no {seen_by(kind)}.")
    return offer(encoded, request)


def game(case: Case, request: Request, removal: Removal) -> Game:
    """Look at a case as a game in which "removed" means this."""
    return game_of(case.classifier, case.encoded, replace(request, removal=removal, cache=case.cache))


def _whole_part(case: Case, views: tuple[View, ...], targets: slice) -> ViewedPart:
    n_features = case.encoded.n_features
    return ViewedPart(views, np.arange(n_features), np.ones(n_features), complete=True, targets=targets)


def _segments(case: Case, spec: Spec, request: Request) -> Iterator[ViewedPart]:
    """Yield each window as a text of its own, blended with its neighbours."""
    weights = blend(case.encoded)
    for number in range(len(case.encoded.windows)):
        segment, held = case.encoded.segment(number)
        for views, targets in _views(case.classifier, segment, spec, request):
            yield ViewedPart(views, held, weights[number, held], complete=False, targets=targets)


def _check_cut(spec: Spec, request: Request, linear: ScoreSpace) -> None:
    if any(kind.joined == "whole" for kind in spec.consumes):
        raise IncompatibleError(f"'{spec.name}' cannot be put together from windows of a text; use --long segments.")
    if request.space != linear:
        raise IncompatibleError(
            f"the score '{request.space}' of a long text is not a sum over its windows; "
            f"use --score {linear} or --long segments with '{spec.name}'."
        )


def _windows(case: Case, spec: Spec, request: Request) -> Iterator[ViewedPart]:
    """Yield what is to be known of a text in several windows: what sums as one, the rest window by window."""
    if all(kind.joined == "sum" for kind in spec.consumes):
        for documents, _, targets in _summing_views(case, spec, request):
            yield _whole_part(case, tuple(documents.values()), targets)
        return
    # a method that splits the logit itself is as linear in it as a gradient is
    summed = bool(spec.facts["complete"])
    weights, n_windows = None if summed else blend(case.encoded), len(case.encoded.windows)
    for documents, own, targets in _summing_views(case, spec, request):
        for number in range(n_windows):
            segment, held = case.encoded.segment(number)
            views = tuple(
                documents[kind].window(number) if kind in documents else view(kind, case.classifier, segment, own)
                for kind in spec.consumes
            )
            share = np.ones(len(held)) if weights is None else weights[number, held]
            yield ViewedPart(views, held, share / n_windows, complete=summed, targets=targets)


def _summing_views(case: Case, spec: Spec, request: Request) -> Iterator[tuple[Views, Request, slice]]:
    """Yield the views that sum as ones of the whole text, for as many targets at a time as fit into memory."""
    kinds = [kind for kind in spec.consumes if kind.joined == "sum"]
    segments = [case.encoded.segment(number)[0] for number in range(len(case.encoded.windows))]

    def whole(own: Request) -> Views:
        return {
            kind: kind.together([view(kind, case.classifier, one, own) for one in segments], case.encoded)
            for kind in kinds
        }

    every = whole(request)
    for own, some in _some_targets(request, every.values()):
        yield (every if own is request else whole(own)), own, some


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
    part = np.asarray([span.part for span in encoded.places])
    windows = np.bincount(np.concatenate([window.features for window in encoded.windows]), minlength=len(part))
    everywhere, seen = np.flatnonzero(windows == len(encoded.windows)), np.flatnonzero(windows)
    whole = [p for p in np.unique(part) if np.isin(seen[part[seen] == p], everywhere).all()]
    return everywhere[np.isin(part[everywhere], whole)]


def _views(
    classifier: Classifier, encoded: Encoded, spec: Spec, request: Request
) -> Iterator[tuple[tuple[View, ...], slice]]:
    """Yield the views of some targets and which ones; all at once, unless those would fill the memory."""
    large = {kind: view(kind, classifier, encoded, request) for kind in spec.consumes if kind.joined == "sum"}
    for own, some in _some_targets(request, large.values()):
        known = large if own is request else {}
        yield tuple(known.get(kind) or view(kind, classifier, encoded, own) for kind in spec.consumes), some


def _some_targets(request: Request, views: Iterable[View]) -> Iterator[tuple[Request, slice]]:
    """Yield requests for some of the targets and which ones; the request itself if views of all of them fit."""
    n_targets = len(request.targets)
    step = max(1, GRADIENT_BYTES // max([1, *(one.bytes_per_target for one in views)]))
    if step >= n_targets:
        yield request, slice(0, n_targets)
        return
    for start in range(0, n_targets, step):
        some = slice(start, min(start + step, n_targets))
        yield replace(request, targets=request.targets[some]), some
