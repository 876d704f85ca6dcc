"""Rationales: what people marked as the reason for a label."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylight.core.arrays import Bools, Ints
from whylight.core.example import Span


@dataclass(frozen=True, slots=True)
class Rationale:
    """The evidence for one label of one example.

    Attributes:
        spans: The marked stretches of text.
    """

    spans: tuple[Span, ...]

    def marks(self, features: Sequence[Span]) -> Bools:
        """Say of each feature whether it is gold: at least half its characters are marked."""
        gold = np.zeros(len(features), dtype=bool)
        for part in {feature.part for feature in features}:
            own = [i for i, feature in enumerate(features) if feature.part == part]
            starts, ends = np.asarray([(features[i].start, features[i].end) for i in own]).T
            covered = _marked_before(self.spans, part, length=int(ends.max()))
            count = covered[ends] - covered[starts]
            gold[own] = (count > 0) & (2 * count >= ends - starts)
        return gold


def _marked_before(spans: Sequence[Span], part: int, *, length: int) -> Ints:
    """Return how many characters of a part are marked before each place from 0 to `length`."""
    change = np.zeros(length + 1, dtype=np.int64)
    bounds = np.asarray([(span.start, span.end) for span in spans if span.part == part], dtype=np.int64).reshape(-1, 2)
    filled = np.clip(bounds[bounds[:, 0] < bounds[:, 1]], 0, length)
    np.add.at(change, filled[:, 0], 1)
    np.add.at(change, filled[:, 1], -1)
    return np.concatenate([[0], np.cumsum(np.cumsum(change[:-1]) > 0)])
