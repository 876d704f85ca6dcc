"""Counting the work that an explanation needed."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Meter:
    """Counts and notes of one explanation.

    Attributes:
        asked: Distinct rows that were asked for, whether or not a cache answered.
        forward: Other rows that went forward (passes that carry a gradient or record a trace are never cached).
        backward: Rows that gradients were propagated through.
        notes: What a method has to say about its own work.
    """

    asked: set[bytes] = field(default_factory=set)
    forward: int = 0
    backward: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def forward_passes(self) -> int:
        """Rows that went forward, as if nothing had been cached."""
        return len(self.asked) + self.forward
