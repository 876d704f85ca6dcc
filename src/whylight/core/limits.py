"""How long work may take, and how much memory: what a user allows, wherever the work is done.

    with limited(budget=60, max_memory="4GB"):
        ...

Time is bounded by an estimate: who shows progress (`explaining/bar.py`) extrapolates from the batches that are done.
Memory is bounded twice: a method that is about to take much says how much first (`claim`), and the memory of the
process is looked at while batches come in.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from whylight.core.errors import LimitError, SettingError
from whylight.core.memory import free_bytes, in_bytes, told

MUCH = 2**30
"""Bytes that are worth telling beforehand."""
Clock = Callable[[], float]


@dataclass(slots=True)
class Limits:
    """What work may take.

    Attributes:
        seconds: Seconds from the start, or None for no bound.
        memory: Bytes that the process may take, or None for what is free.
        clock: Where the time comes from.
        started: When the work began.
        claimed: The most bytes that a method has said it needs.
    """

    seconds: float | None
    memory: int | None
    clock: Clock
    started: float
    claimed: int = 0


_limits: ContextVar[Limits | None] = ContextVar("limits", default=None)


@contextmanager
def limited(
    *, budget: float | None = None, max_memory: str | None = None, clock: Clock = time.monotonic
) -> Iterator[Limits]:
    """Bound the work inside the block; bounds that were set around it hold as well.

    Args:
        budget: Seconds.
        max_memory: Memory of the process, e.g. `4GB`.
        clock: Where the time comes from.
    """
    if budget is not None and not (budget > 0 and math.isfinite(budget)):
        raise SettingError(f"the budget must be above 0 seconds, not {budget:g}.")
    memory = None if max_memory is None else in_bytes(max_memory, name="max_memory")
    around = _limits.get()
    if around is not None and budget is None and memory is None:
        yield around
        return
    token = _limits.set(_tighter(around, Limits(budget, memory, clock, clock())))
    try:
        yield current()
    finally:
        _limits.reset(token)


def current() -> Limits:
    """Return the bounds that hold here; without any, a record of what was claimed."""
    return _limits.get() or Limits(None, None, time.monotonic, time.monotonic())


def claim(needed: int, what: str) -> None:
    """Refuse work that needs more memory than it may have, before it takes it.

    Args:
        needed: Bytes that are about to be taken.
        what: What takes them, as the beginning of a sentence, e.g. `"'lime' on 9,000 features"`.
    """
    if needed < MUCH // 16:
        return
    limits = current()
    limits.claimed = max(limits.claimed, needed)
    allowed = free_bytes() if limits.memory is None else limits.memory
    if allowed is not None and needed > allowed:
        bound = "are free" if limits.memory is None else "are allowed (--max-memory)"
        raise LimitError(
            f"{what} needs about {told(needed)} of memory, and {told(allowed)} {bound}; "
            "use a method or metric that needs less (occlusion), fewer samples, or larger units (--unit sentence)."
        )


def _tighter(around: Limits | None, inside: Limits) -> Limits:
    """Put two bounds together: the earlier end, and the smaller memory."""
    if around is None:
        return inside
    if inside.memory is None or (around.memory is not None and around.memory < inside.memory):
        inside.memory = around.memory
    if around.seconds is not None:
        left = around.started + around.seconds - inside.started
        if inside.seconds is None or left < inside.seconds:
            inside.seconds, inside.started, inside.clock = around.seconds, around.started, around.clock
    return inside
