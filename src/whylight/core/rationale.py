"""Rationales: what people marked as the reason for a label."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylight.core.arrays import Bools
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
        marked: set[tuple[int, int]] = {(s.part, i) for s in self.spans for i in range(s.start, s.end)}
        covered = [sum((f.part, i) in marked for i in range(f.start, f.end)) for f in features]
        lengths = [f.end - f.start for f in features]
        return np.asarray([c > 0 and 2 * c >= n for c, n in zip(covered, lengths, strict=True)], dtype=bool)
