"""A progress bar for training, with the terms of the loss beside it; without a terminal, a line every minute."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.progress import BarColumn, Progress, TimeElapsedColumn, TimeRemainingColumn
from transformers import TrainerCallback

from whylight.core import progress
from whylight.explaining import bar
from whylight.explaining.console import Console, complain, text_column

SHOWN = ("loss", "grad_norm", "learning_rate", "epoch", "step")
"""Logged numbers that are not shown as terms."""
FIGURES = ("accuracy", "micro_f1", "labels", "rest")
"""Figures of a classifier's validation that are shown."""


class EveryMinute:
    """Writes a line if the last one, or the beginning, is a minute ago: for those who call it often."""

    def __init__(self) -> None:
        self._said = time.monotonic()

    def say(self, sentence: str) -> None:
        """Write a sentence to standard error, if it is time."""
        if time.monotonic() - self._said >= bar.MINUTE:
            self._said = time.monotonic()
            complain(f"{sentence}.")


class ProgressBar(TrainerCallback):  # type: ignore[misc]  # transformers is untyped for us
    """Shows steps, time left, terms, and the last validation, if a person is watching.

    Args:
        names: Figures of a validation that are shown.
    """

    def __init__(self, names: Sequence[str] = FIGURES) -> None:
        self._names = names
        self._progress: Progress | None = None
        self._terms = self._validated = ""
        self._lines = EveryMinute()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ANN401, ARG002
        """Start the bar."""
        self._lines = EveryMinute()
        if sys.stderr.isatty() and state.is_world_process_zero:
            columns = ("{task.fields[epoch]}", "{task.fields[terms]}", "{task.fields[validated]}")
            texts = [text_column(one) for one in columns]
            shown = (texts[0], BarColumn(), TimeElapsedColumn(), TimeRemainingColumn(), *texts[1:])
            self._progress = Progress(*shown, console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task("", total=state.max_steps, epoch="", terms="", validated="")
            self._progress.start()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ANN401, ARG002
        """Move the bar, or write a line if the last one is a minute ago."""
        epoch = f"epoch {state.epoch:.1f}/{args.num_train_epochs:g}"
        if self._progress is None and state.is_world_process_zero:
            step = f"step {state.global_step:,} of {state.max_steps:,}"
            known = (f"training: {epoch}, {step}", self._terms, self._validated)
            self._lines.say("; ".join(one for one in known if one))
        if self._progress is not None:
            self._progress.update(
                self._task, completed=state.global_step, epoch=epoch, terms=self._terms, validated=self._validated
            )

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:  # noqa: ANN401, ARG002
        """Take up the last numbers."""
        terms = {name: value for name, value in (logs or {}).items() if name not in SHOWN and "_" not in name[:5]}
        if logs and "loss" in logs:
            self._terms = " ".join(f"{name} {value:.3g}" for name, value in terms.items())

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: dict[str, float], **_: Any) -> None:  # noqa: ANN401, ARG002
        """Take up the last validation."""
        shown = {name: metrics[f"eval_{name}"] for name in self._names if f"eval_{name}" in metrics}
        self._validated = "validation: " + " ".join(f"{name} {value:.3f}" for name, value in shown.items())

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ANN401, ARG002
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()


class Steps(TrainerCallback):  # type: ignore[misc]  # as above
    """Tells whoever listens how many steps a training has, and of each that is done."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ANN401, ARG002
        """Say how many there are; opening the model is one too, told before the others: they will not take as long."""
        progress.advance(1)
        progress.expect(1 + state.max_steps - state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ANN401, ARG002
        """Say that one is done."""
        progress.advance(1)


@contextmanager
def trial_bar(total: int, *, shown: bool, what: str = "trial") -> Iterator[Callable[[float], None]]:
    """Show how many trials, or what else there is many of, are done: as a bar, or in a line every minute."""
    if shown and not sys.stderr.isatty():
        lines = EveryMinute()
        yield lambda done: lines.say(f"{what} {min(total, int(done) + 1)} of {total}")
        return
    columns = (
        text_column(what + " {task.fields[now]} of {task.total:g}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not shown) as drawn:
        task = drawn.add_task("", total=total, now=1)
        yield lambda done: drawn.update(task, completed=done, now=min(total, int(done) + 1))
