"""What a part of the campaign found: how much was tried, and everything that broke a promise."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Outcome:
    """The result of one part.

    Attributes:
        tried: How much was tried, by what is counted, e.g. `{"texts": 100_000, "encodings": 400_000}`.
        violations: One line for each broken promise, with what is needed to see it again; empty is the bar.
    """

    tried: Mapping[str, int]
    violations: list[str] = field(default_factory=list)


Part = Callable[[float, int], Outcome]
"""A part of the campaign: from a scale (1 is the whole of it, 0.01 the short form in the tests) and a seed."""
