"""Rationales: what people marked as the reason for a label."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from whylight.core.text import Span, covered

Vote = Literal["majority", "union"]


@dataclass(frozen=True, slots=True)
class Rationale:
    """The evidence for one label of one example.

    Attributes:
        places: What is marked: stretches of a text, or what else an input has for places.
    """

    places: tuple[Any, ...]


def joined(rationales: Sequence[Rationale], vote: Vote) -> Rationale:
    """Return what several people marked in a text together: runs of characters that enough of them marked.

    Args:
        rationales: What each person marked; nothing counts too.
        vote: `majority` takes what more than half of them marked (of two people: both), `union` what any did.
    """
    needed = len(rationales) // 2 + 1 if vote == "majority" else 1
    spans: list[Span] = []
    for part in sorted({span.part for one in rationales for span in one.places}):
        marked = [covered(one.places, part) > 0 for one in rationales]
        votes = np.zeros(max(map(len, marked)), dtype=np.int64)
        for own in marked:
            votes[: len(own)] += own
        edges = np.flatnonzero(np.diff(np.concatenate(([False], votes >= needed, [False])).astype(np.int8)))
        spans += [Span(part, int(start), int(end)) for start, end in zip(edges[::2], edges[1::2], strict=True)]
    return Rationale(tuple(spans))
