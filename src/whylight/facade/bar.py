"""A progress bar that appears only when work takes longer than two seconds and a person is watching."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer

from rich.progress import BarColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

from whylight.core.printable import one_line
from whylight.core.progress import listening
from whylight.facade.console import Console, words

PATIENCE = 2.0
"""Seconds before a bar appears."""
ALMOST = 0.99
"""Of the current explanation: more steps may follow those that were expected, and a full bar stops its clock."""


@contextmanager
def progress_bar(total: int, *, shown: bool) -> Iterator[Callable[[str], None]]:
    """Show how many explanations are done, and how far the current one has come.

    Args:
        total: Number of explanations.
        shown: False keeps the terminal untouched.

    Yields:
        A function to call with a title at the start of each explanation.
    """
    if not shown or not sys.stderr.isatty():
        yield lambda _title: None
        return
    bar = _Bar(total)
    try:
        with listening(bar):
            yield bar.step
    finally:
        bar.stop()


class _Bar:
    """Explanations that are done, and the share of steps that the current one has behind it."""

    def __init__(self, total: int) -> None:
        self._progress = Progress(
            words("{task.description}"),
            BarColumn(),
            words("{task.fields[number]}/{task.total:.0f}, {task.fields[steps]:,} steps"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("explaining", total=total, steps=0, number=0)
        self._number = self._all_steps = self._expected = self._steps = 0
        self._stopped, self._lock = False, Lock()
        self._timer = Timer(PATIENCE, self._appear)  # a clock of its own: a step may take longer than that
        self._timer.daemon = True
        self._timer.start()

    def step(self, title: str) -> None:
        self._number += 1
        self._expected = self._steps = 0
        self._progress.update(self._task, description=one_line(title), number=self._number)
        self._update()

    def expect(self, steps: int) -> None:
        self._expected += steps

    def advance(self, steps: int) -> None:
        self._steps += steps
        self._all_steps += steps
        self._update()

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
