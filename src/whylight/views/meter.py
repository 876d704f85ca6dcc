"""Counting the work that an explanation needed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Meter:
    """Counts and notes of one explanation.

    Attributes:
        asked: Distinct rows that were asked for, whether or not a cache answered.
        forward: Other rows that went forward (passes that carry a gradient or record a trace are never cached).
        saved: Seconds that others had already spent on rows that were asked for.
        backward: Rows that gradients were propagated through.
        notes: What a method has to say about its own work.
    """

    asked: set[bytes] = field(default_factory=set)
    forward: int = 0
    saved: float = 0.0
    backward: int = 0
    notes: list[str] = field(default_factory=list)

    def ask(self, keys: Iterable[bytes], spent: Callable[[bytes], float | None]) -> None:
        """Count rows; of those that a cache answers, the first time, count what they had cost.

        Args:
            keys: The rows.
            spent: Seconds that went into a row's answer, or None if it has none yet.
        """
        for key in dict.fromkeys(keys):
            if key not in self.asked:
                self.asked.add(key)
                self.saved += spent(key) or 0.0

    @property
    def forward_passes(self) -> int:
        """Rows that went forward, as if nothing had been cached."""
        return len(self.asked) + self.forward
