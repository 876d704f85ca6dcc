"""A progress bar that appears only when work takes longer than two seconds and a person is watching."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from whylight.core.progress import listening

PATIENCE = 2.0
"""Seconds before a bar appears."""


@contextmanager
def progress_bar(total: int, *, shown: bool) -> Iterator[Callable[[str], None]]:
    """Show how many explanations are done and how many rows went through the model.

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
    """Explanations that are done, and the share of rows that the current one has behind it."""

    def __init__(self, total: int) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[number]}/{task.total:.0f}, {task.fields[rows]:,} rows"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("explaining", total=total, rows=0, number=0)
        self._born = time.monotonic()
        self._number = self._all_rows = self._expected = self._rows = 0

    def step(self, title: str) -> None:
        self._number += 1
        self._expected = self._rows = 0
        self._progress.update(self._task, description=title, number=self._number)
        self._update()

    def expect(self, rows: int) -> None:
        self._expected += rows

    def advance(self, rows: int) -> None:
        self._rows += rows
        self._all_rows += rows
        self._update()

    def stop(self) -> None:
        self._progress.stop()

    def _update(self) -> None:
        share = self._rows / self._expected if self._expected else 0.0
        self._progress.update(self._task, completed=max(0, self._number - 1) + share, rows=self._all_rows)
        if time.monotonic() - self._born > PATIENCE:
            self._progress.start()
