"""Cutting token sequences that are longer than the model reads into overlapping windows at word boundaries."""

from bisect import bisect_right
from collections.abc import Sequence

from whylight.core.errors import ModelError

OVERLAP = 100
"""Tokens that two neighbouring windows share."""


def windows(
    n_tokens: int, *, boundaries: Sequence[int], capacity: int, overlap: int = OVERLAP
) -> list[tuple[int, int]]:
    """Return the first and last-plus-one token of each window.

    Every token is in a window, no window exceeds the capacity, and windows start and end at boundaries; only a word
    that is longer than a window is cut inside.

    Args:
        n_tokens: Tokens to cover.
        boundaries: Ascending token indices at which a word starts.
        capacity: Tokens that fit beside the special ones.
        overlap: Tokens that neighbours should share; at most a quarter of the capacity.
    """
    if capacity < 1:  # no window could ever hold a token
        raise ModelError("the model has no room for a word beside its special tokens.")
    shared = min(overlap, capacity // 4)
    cuts = [*boundaries, n_tokens]
    spans = [(0, _last_cut(cuts, 0, capacity) or capacity)]
    while spans[-1][1] < n_tokens:
        before, end = spans[-1]
        # share what neighbours should share; but a word that would then be cut, and fits alone, starts its window
        starts = [s for s in (_last_cut(cuts, before, end - shared), _last_cut(cuts, before, end)) if s is not None]
        whole = [(start, stop) for start in starts if (stop := _last_cut(cuts, end, start + capacity)) is not None]
        start = starts[0] if starts else end - shared
        spans.append(whole[0] if whole else (start, min(n_tokens, start + capacity)))
    return spans


def _last_cut(cuts: Sequence[int], above: int, upto: int) -> int | None:
    """Return the last cut in (above, upto], or None where one word spans the whole stretch."""
    place = bisect_right(cuts, upto) - 1
    return cuts[place] if place >= 0 and cuts[place] > above else None
