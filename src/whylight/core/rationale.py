"""Rationales: what people marked as the reason for a label."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from whylight.core.arrays import Bools, Ints
from whylight.core.example import Span

Vote = Literal["majority", "union"]


@dataclass(frozen=True, slots=True)
class Rationale:
    """The evidence for one label of one example.

    Attributes:
        spans: The marked stretches of text.
    """

    spans: tuple[Span, ...]

    def marks(self, features: Sequence[Span]) -> Bools:
        """Say of each feature whether it is gold: at least half its characters are marked."""
        parts = {span.part for span in self.spans}
        sums = {part: np.concatenate(([0], np.cumsum(self._counts(part) > 0))) for part in parts}
        gold = np.zeros(len(features), dtype=bool)
        for i, feature in enumerate(features):
            if feature.part in sums:
                own = sums[feature.part]
                start, end = (min(place, len(own) - 1) for place in (feature.start, feature.end))
                covered = int(own[end] - own[start])
                gold[i] = covered > 0 and 2 * covered >= feature.end - feature.start
        return gold

    def _counts(self, part: int) -> Ints:
        """Return how many spans hold each character of a part, up to the last one that is marked."""
        spans = [span for span in self.spans if span.part == part]
        steps = np.zeros(max((span.end for span in spans), default=0) + 1, dtype=np.int64)
        for span in spans:
            steps[span.start] += 1
            steps[span.end] -= 1
        return np.cumsum(steps)[:-1]


def joined(rationales: Sequence[Rationale], vote: Vote) -> Rationale:
    """Return what several people marked together: runs of characters that enough of them marked.

    Args:
        rationales: What each person marked; nothing counts too.
        vote: `majority` takes what more than half of them marked (of two people: both), `union` what any did.
    """
    needed = len(rationales) // 2 + 1 if vote == "majority" else 1
    spans: list[Span] = []
    for part in sorted({span.part for one in rationales for span in one.spans}):
        marked = [one._counts(part) > 0 for one in rationales]  # noqa: SLF001  of the same class
        votes = np.zeros(max(map(len, marked)), dtype=np.int64)
        for own in marked:
            votes[: len(own)] += own
        edges = np.flatnonzero(np.diff(np.concatenate(([False], votes >= needed, [False])).astype(np.int8)))
        spans += [Span(part, int(start), int(end)) for start, end in zip(edges[::2], edges[1::2], strict=True)]
    return Rationale(tuple(spans))
