"""How long work will take, from the batches that are done.

Work is a plan of items (a text explained by a method, a text evaluated), each of a kind and a size. Of the current item
it is known how many steps are done and how many to come; its first batch, which warms the model up, is left out of the
rate. An item that is to come takes what items of its kind took, in proportion to its size. Until one of its kind is
done, the current one stands for it, as far as its steps are known: more of them may follow, so that the estimate is a
lower bound. So it is where a kind has not been seen yet, which adds nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from whylight.core.errors import LimitError
from whylight.core.limits import MUCH, Limits
from whylight.core.memory import resident_bytes, told

PATIENCE = 1.0
"""Seconds before an estimate is trusted, unless the budget itself is shorter."""
WORTH_SAYING = 60.0
"""Seconds of work that are worth telling beforehand."""
WAIT = 20.0
"""Seconds after which a lower bound is told, if there is nothing better to tell."""
LOOK_EVERY = 0.5
"""Seconds between two looks at the memory of the process."""
MINUTE, HOUR = 60, 3600

Planned = tuple[str, int]
"""What kind of work, and how large; sizes are compared within a kind."""


@dataclass(slots=True)
class _Current:
    """The item that is being worked on: when it began, and its steps; `first` are those of the first batch.

    `busy` are the seconds in which steps were on their way, `since` is up to when they are counted: what is done
    between two calls of the model, such as making texts, is no part of what a step takes.
    """

    kind: str
    size: int
    began: float
    since: float
    expected: int = 0
    steps: int = 0
    first: int = 0
    busy: float = 0.0
    first_busy: float = 0.0


class Estimate:
    """Hears of steps, says how long it will all take, and stops what takes too long.

    Args:
        plan: Every item, in order.
        limits: What the work may take.
        say: Told, once, that the work is long; None for nobody.
    """

    def __init__(self, plan: Sequence[Planned], limits: Limits, *, say: Callable[[str], None] | None = None) -> None:
        self._plan, self._limits, self._say = plan, limits, say
        self._clock = limits.clock
        self._began = self._looked = self._clock()
        self._number = 0
        self._current: _Current | None = None
        self._done: dict[str, tuple[float, int]] = {}
        self._left: dict[str, int] = {}
        for kind, size in plan:
            self._left[kind] = self._left.get(kind, 0) + size

    def step(self) -> None:
        """Hear that the next item of the plan begins."""
        now = self._clock()
        self._finish(now)
        kind, size = self._plan[min(self._number, len(self._plan) - 1)]
        self._number += 1
        self._left[kind] -= size
        self._current = _Current(kind, size, now, now)
        self._check(now)

    def expect(self, steps: int) -> None:
        """Hear that the current item has so many more steps."""
        one = self._current
        if one is not None:
            one.since = self._clock() if one.steps >= one.expected else one.since
            one.expected += steps

    def advance(self, steps: int) -> None:
        """Hear that so many more steps are done."""
        one, now = self._current, self._clock()
        if one is None:
            return
        one.steps += steps
        one.busy, one.since = one.busy + now - one.since, now
        if not one.first:
            one.first, one.first_busy = one.steps, one.busy
        self._check(now)

    def seconds(self, now: float) -> tuple[float, bool]:
        """Return how long the work takes in all, from the start of the limits, and whether it may be more than that."""
        rates = {kind: spent / max(1, size) for kind, (spent, size) in self._done.items()}
        coming, one = 0.0, self._current
        if one is not None:
            rest = self._rest(one)
            coming += rest
            if one.steps:
                rates.setdefault(one.kind, (now - one.began + rest) / max(1, one.size))
        coming += sum(rates.get(kind, 0.0) * size for kind, size in self._left.items())
        unseen = any(size and kind not in self._done for kind, size in self._left.items())
        return now - self._limits.started + coming, unseen

    @staticmethod
    def _rest(one: _Current) -> float:
        """Return the seconds that the steps of the current item still take, as far as those that are done tell."""
        left = max(0, one.expected - one.steps)
        later = one.steps - one.first
        if later:
            return left * (one.busy - one.first_busy) / later
        return left * one.busy / one.steps if one.steps else 0.0

    def _finish(self, now: float) -> None:
        if self._current is not None:
            spent, size = self._done.get(self._current.kind, (0.0, 0))
            self._done[self._current.kind] = (spent + now - self._current.began, size + self._current.size)

    def _check(self, now: float) -> None:
        """Refuse work that will not end within its limits; say once that work is long."""
        budget = self._limits.seconds
        elapsed = now - self._limits.started
        if elapsed < min(PATIENCE, PATIENCE if budget is None else budget):
            return
        total, unseen = self.seconds(now)
        told_time = f"{'at least' if unseen else 'about'} {duration(total)}"
        if budget is not None and total > budget:
            raise LimitError(
                f"this takes {told_time}, and the budget is {duration(budget)}; "
                "allow more, or ask for less (fewer texts, samples or methods).",
                seconds=total,
            )
        self._look(now)
        if self._say is not None and total > WORTH_SAYING and elapsed >= (WAIT if unseen else PATIENCE):
            say, self._say = self._say, None
            memory = f" and {told(self._limits.claimed)} of memory" if self._limits.claimed >= MUCH else ""
            bound = "" if budget is not None else ", or bound it with a budget (--budget SECONDS; budget= in Python)"
            say(f"this takes {told_time}{memory}; stop it with Ctrl-C{bound}.")

    def _look(self, now: float) -> None:
        """Stop work whose process has grown beyond what it may take."""
        allowed = self._limits.memory
        if allowed is None or now - self._looked < LOOK_EVERY:
            return
        self._looked = now
        taken = resident_bytes()
        if taken > allowed:
            raise LimitError(
                f"the process takes {told(taken)} of memory, and {told(allowed)} are allowed (--max-memory); "
                "allow more, or ask for less (shorter texts, fewer samples)."
            )


def duration(seconds: float) -> str:
    """Write a time as a person would: `40 s`, `12 min`, `3 h`."""
    if seconds < 2 * MINUTE:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"  # noqa: PLR2004  two digits say enough
    return f"{seconds / MINUTE:.0f} min" if seconds < 2 * HOUR else f"{seconds / HOUR:.1f} h"
