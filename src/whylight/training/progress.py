"""A progress bar for training, with the terms of the loss beside it."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.progress import BarColumn, Progress, TimeElapsedColumn, TimeRemainingColumn
from transformers import TrainerCallback

from whylight.core import progress
from whylight.explaining.console import Console, text_column

SHOWN = ("loss", "grad_norm", "learning_rate", "epoch", "step")
"""Logged numbers that are not shown as terms."""
FIGURES = ("accuracy", "micro_f1", "labels", "rest")
"""Figures of a classifier's validation that are shown."""


class ProgressBar(TrainerCallback):  # type: ignore[misc]  # transformers is untyped for us
    """Shows steps, time left, terms, and the last validation, if a person is watching.

    Args:
        names: Figures of a validation that are shown.
    """

    def __init__(self, names: Sequence[str] = FIGURES) -> None:
        self._names = names
        self._progress: Progress | None = None
        self._terms = self._validated = ""

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ANN401, ARG002
        """Start the bar."""
        if sys.stderr.isatty() and state.is_world_process_zero:
            columns = ("{task.fields[epoch]}", "{task.fields[terms]}", "{task.fields[validated]}")
            texts = [text_column(one) for one in columns]
            bar = (texts[0], BarColumn(), TimeElapsedColumn(), TimeRemainingColumn(), *texts[1:])
            self._progress = Progress(*bar, console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task("", total=state.max_steps, epoch="", terms="", validated="")
            self._progress.start()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ANN401, ARG002
        """Move the bar."""
        if self._progress is not None:
            epoch = f"epoch {state.epoch:.1f}/{args.num_train_epochs:g}"
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
def trial_bar(total: int, *, shown: bool) -> Iterator[Callable[[float], None]]:
    """Show how many trials are done, if a person is watching."""
    columns = (
        text_column("trial {task.fields[now]} of {task.total:g}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    hidden = not (shown and sys.stderr.isatty())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=hidden) as bar:
        task = bar.add_task("", total=total, now=1)
        yield lambda done: bar.update(task, completed=done, now=min(total, int(done) + 1))
