"""Timing on a noisy machine: what is compared runs in turns, and medians are compared as a ratio."""

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


def seconds(work: Work) -> float:
    """Time one run."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def medians(works: Sequence[Work], *, rounds: int = 5, warm_up: bool = True) -> list[float]:
    """Return the median seconds of each piece of work; they take turns, so that a slow spell hits all alike."""
    if warm_up:
        for work in works:
            work()
    times = [[seconds(work) for work in works] for _ in range(rounds)]
    return [median(column) for column in zip(*times, strict=True)]


def fastest(works: Sequence[Work], *, rounds: int = 2) -> Work:
    """Return the work with the lowest median, e.g. a peer at its best batch size."""
    times = medians(works, rounds=rounds)
    return works[times.index(min(times))]


def at_least(name: str, value: float, target: float, detail: str = "") -> Result:
    """Build a line whose value must not fall below its target."""
    return Result(name, value, f">= {target:g}", value >= target, detail)


def at_most(name: str, value: float, target: float, detail: str = "") -> Result:
    """Build a line whose value must not exceed its target."""
    return Result(name, value, f"<= {target:g}", value <= target, detail)
