"""Timing on a noisy machine: what is compared runs in turns, and a ratio is the median of those within a round."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

Work = Callable[[], object]


@dataclass(frozen=True)
class Result:
    """One line of the table: a figure and what it is held against."""

    name: str
    value: float
    target: str
    met: bool
    detail: str = ""


@dataclass(frozen=True)
class Turns:
    """What pieces of work took that ran in turns.

    Attributes:
        seconds: `[rounds][works]`.
    """

    seconds: tuple[tuple[float, ...], ...]

    def median(self, work: int) -> float:
        """Return the median seconds of a piece of work."""
        return median(times[work] for times in self.seconds)

    def ratio(self, one: int, other: int) -> float:
        """Return the median over rounds of one's seconds by the other's in the same round.

        A slow spell of the machine hits both sides of such a ratio; it would hit one of two medians alone.
        """
        return median(times[one] / times[other] for times in self.seconds)

    def fastest(self, works: Sequence[int]) -> int:
        """Return the work with the lowest median among some."""
        return min(works, key=self.median)


def seconds(work: Work) -> float:
    """Time one run."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def take_turns(works: Sequence[Work], *, rounds: int = 5, warm_up: bool = True) -> Turns:
    """Time pieces of work in turns: every second round goes backwards, so that no one always comes first."""
    if warm_up:
        for work in works:
            work()
    found = []
    for number in range(rounds):
        order = range(len(works)) if number % 2 == 0 else reversed(range(len(works)))
        times = {which: seconds(works[which]) for which in order}
        found.append(tuple(times[which] for which in range(len(works))))
    return Turns(tuple(found))


def fastest(works: Sequence[Work], *, rounds: int = 2) -> Work:
    """Return the work with the lowest median, e.g. a peer at its best batch size."""
    return works[take_turns(works, rounds=rounds).fastest(range(len(works)))]


def at_least(name: str, value: float, target: float, detail: str = "") -> Result:
    """Build a line whose value must not fall below its target."""
    return Result(name, value, f">= {target:g}", value >= target, detail)


def at_most(name: str, value: float, target: float, detail: str = "") -> Result:
    """Build a line whose value must not exceed its target."""
    return Result(name, value, f"<= {target:g}", value <= target, detail)


def for_orientation(name: str, value: float, detail: str = "") -> Result:
    """Build a line that has no target."""
    return Result(name, value, "-", met=True, detail=detail)
