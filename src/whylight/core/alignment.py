"""Which tokens of one tokenizer cover the same characters as which tokens of another.

    pairs = {(i, j) : source token i and target token j share a character}

A target token that shares no character with any source token (white space, a zero-width piece) goes with the nearest
one of the same text, of two the first. So every target token has at least one source token, and a source token may have
any number of targets. Cost: n log n.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylight.core.arrays import Ints
from whylight.core.errors import InputError
from whylight.core.text import Span


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """Pairs of tokens.

    Attributes:
        source: The source token of each pair, `[pairs]`.
        target: The target token of each pair, ascending, `[pairs]`.
        shared: How many target tokens share a character with a source token; the others go with the nearest.
    """

    source: Ints
    target: Ints
    shared: int


def align(sources: Sequence[Span], targets: Sequence[Span]) -> Alignment:
    """Align tokens by their characters; both lists are in reading order, and tokens of a list may overlap.

    Raises:
        InputError: A text of a pair has targets and no source.
    """
    pairs: list[tuple[int, int]] = []
    shared = 0
    parts = {part: _Part(sources, part) for part in {span.part for span in targets}}
    for number, target in enumerate(targets):
        own = parts[target.part]
        found = own.overlapping(target)
        shared += bool(len(found))
        pairs += [(int(i), number) for i in (found if len(found) else own.nearest(target))]
    both = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    return Alignment(both[:, 0], both[:, 1], shared)


class _Part:
    """The source tokens of one text of a pair."""

    def __init__(self, sources: Sequence[Span], part: int) -> None:
        self._number = np.asarray([i for i, span in enumerate(sources) if span.part == part], dtype=np.int64)
        if not len(self._number):
            raise InputError("one of the two tokenizers leaves nothing of a text that the other one reads.")
        own = [sources[i] for i in self._number]
        self._start = np.asarray([span.start for span in own])
        self._end = np.asarray([span.end for span in own])
        # tokens may overlap, so that neither need rise from one to the next; these do
        self._latest_end = np.maximum.accumulate(self._end)
        self._earliest_start = np.minimum.accumulate(self._start[::-1])[::-1]

    def overlapping(self, target: Span) -> Ints:
        """Return the source tokens that share a character with a target."""
        first = int(np.searchsorted(self._latest_end, target.start, side="right"))
        last = int(np.searchsorted(self._earliest_start, target.end, side="left"))
        some = slice(first, max(first, last))
        begin, end = np.maximum(self._start[some], target.start), np.minimum(self._end[some], target.end)
        return np.asarray(self._number[some][begin < end])

    def nearest(self, target: Span) -> Ints:
        """Return the source token that stands nearest to a target, of two the first."""
        away = np.maximum(self._start - target.end, target.start - self._end)
        return np.asarray(self._number[[int(np.maximum(away, 0).argmin())]])
