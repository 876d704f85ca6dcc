"""A progress bar that appears only when work takes longer than two seconds and a person is watching.

Where there is no terminal to draw one in, such as in the log of a batch system, a line is written every minute.

What it is told about steps also makes the estimate of how long the work will take (`core/estimate.py`): long work is
announced, and what exceeds the limits that hold (`core/limits.py`) is refused.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from threading import Event, Lock, Thread, Timer

from rich.progress import BarColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

from whylight.core.estimate import Estimate, Planned, duration
from whylight.core.limits import limited
from whylight.core.printable import one_line
from whylight.core.progress import Listener, hearing, listening, telling
from whylight.explaining.console import Console, complain, text_column

PATIENCE = 2.0
"""Seconds before a bar appears."""
MINUTE = 60.0
"""Seconds between two lines, where there is no bar."""
ALMOST = 0.99
"""Of the current explanation: more steps may follow those that were expected, and a full bar stops its clock."""


@contextmanager
def progress_bar(total: int, *, shown: bool, plan: Sequence[Planned] | None = None) -> Iterator[Callable[[str], None]]:
    """Show how many explanations are done, and how far the current one has come; refuse what exceeds its limits.

    Args:
        total: Number of explanations.
        shown: False keeps the terminal untouched.
        plan: Kind and size of each of them, for the estimate; all alike if left out.

    Yields:
        A function to call with a title at the start of each explanation.
    """
    with limited() as limits:
        bar = None if not shown else _Bar(total) if sys.stderr.isatty() else _Lines(total)
        say = None if bar is None else bar.say
        ears = _Ears(Estimate([("", 1)] * total if plan is None else plan, limits, say=say), bar)
        try:
            with listening(ears), nullcontext() if bar is None else telling(bar.show):
                yield ears.step
        finally:
            if bar is not None:
                bar.stop()


class _Ears:
    """Passes on what is heard, to the bar first: it should show the batch after which work is refused."""

    def __init__(self, estimate: Estimate, bar: "_Bar | _Lines | None") -> None:
        self._estimate = estimate
        heard: tuple[Listener | None, ...] = (bar, hearing(), estimate)  # whoever listens around the bar goes on
        self._listeners = tuple(one for one in heard if one is not None)
        self._bar = bar

    def step(self, title: str) -> None:
        if self._bar is not None:
            self._bar.step(title)
        self._estimate.step()

    def expect(self, steps: int) -> None:
        for listener in self._listeners:
            listener.expect(steps)

    def advance(self, steps: int) -> None:
        for listener in self._listeners:
            listener.advance(steps)


class _Bar:
    """Explanations that are done, and the share of steps that the current one has behind it."""

    def __init__(self, total: int) -> None:
        self._progress = Progress(
            text_column("{task.description}"),
            BarColumn(),
            text_column("{task.fields[number]}/{task.total:.0f}, {task.fields[steps]:,} steps{task.fields[figure]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("explaining", total=total, steps=0, number=0, figure="")
        self._number = self._all_steps = self._expected = self._steps = 0
        self._stopped, self._lock = False, Lock()
        self._timer = Timer(PATIENCE, self._appear)  # a clock of its own: a step may take longer than that
        self._timer.daemon = True
        self._timer.start()

    def step(self, title: str) -> None:
        self._number += 1
        self._expected = self._steps = 0
        self._progress.update(self._task, description=one_line(title), number=self._number, figure="")
        self._update()

    def expect(self, steps: int) -> None:
        self._expected += steps

    def advance(self, steps: int) -> None:
        self._steps += steps
        self._all_steps += steps
        self._update()

    def show(self, figure: str) -> None:
        self._progress.update(self._task, figure=f", {figure}")

    def say(self, sentence: str) -> None:
        self._progress.console.print(f"whylight: {sentence}", markup=False, highlight=False)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            self._timer.cancel()
            self._progress.stop()

    def _appear(self) -> None:
        with self._lock:
            if not self._stopped:
                self._progress.start()

    def _update(self) -> None:
        share = min(self._steps / self._expected, ALMOST) if self._expected else 0.0
        self._progress.update(self._task, completed=max(0, self._number - 1) + share, steps=self._all_steps)


class _Lines:
    """The same in words, a line every minute; by a clock of its own, since a step may take longer than that."""

    def __init__(self, total: int) -> None:
        self._total, self._began = total, time.monotonic()
        self._title, self._figure = "explaining", ""
        self._number = self._steps = 0
        self._stopped = Event()
        Thread(target=self._write_lines, daemon=True).start()

    def step(self, title: str) -> None:
        self._title, self._figure = title, ""
        self._number += 1

    def expect(self, steps: int) -> None:
        """Nothing is said of steps to come."""

    def advance(self, steps: int) -> None:
        self._steps += steps

    def show(self, figure: str) -> None:
        self._figure = f", {figure}"

    def say(self, sentence: str) -> None:
        complain(sentence)

    def stop(self) -> None:
        self._stopped.set()

    def _write_lines(self) -> None:
        while not self._stopped.wait(MINUTE):
            done = f"{self._number} of {self._total}, {self._steps:,} steps{self._figure}"
            complain(f"{self._title}: {done}; {duration(time.monotonic() - self._began)} so far.")
