"""When to stop: after some epochs without a better checkpoint; a bound gets longer to be met than to be improved on."""

from typing import Any

from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState

from whylight.training.trainer import UNMET

FIRST = 2
"""Patience until a bound is first kept, as a multiple of the patience afterwards (Ferreira et al.: 10 and 5 epochs)."""


class Stopping(TrainerCallback, ExportableState):  # type: ignore[misc]  # transformers is untyped for us
    """Counts epochs without a better checkpoint.

    Args:
        patience: Epochs after which training stops.
        best: The best number so far.
        waited: Epochs since then.
    """

    def __init__(self, patience: int = 5, best: float | None = None, waited: int = 0) -> None:
        self.patience = patience
        self.best = best
        self.waited = waited

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: dict[str, float], **_: Any) -> None:  # noqa: ANN401, ARG002
        """Look at an epoch's number."""
        value = metrics["eval_selection"]
        better = self.best is None or value < self.best - 1e-5
        self.waited = 0 if better else self.waited + 1
        self.best = value if better else self.best
        limit = self.patience * (FIRST if self.best is not None and self.best >= UNMET else 1)
        if self.waited >= limit:
            control.should_training_stop = True

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {"args": {"patience": self.patience, "best": self.best, "waited": self.waited}, "attributes": {}}
