"""What trainings of classifiers and of attribution networks share: Hugging Face's trainer, with terms for a loss.

It keeps checkpoints, resumption, devices and precision; terms are logged as means since the last time, gradients are
averaged over processes, and each batch holds texts of similar length.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import Trainer

from whylight.core.errors import ModelError
from whylight.training import processes
from whylight.training.batches import LengthSampler
from whylight.training.folder import saving


class TermTrainer(Trainer):  # type: ignore[misc]  # transformers is untyped for us
    """Trains by terms.

    Args:
        batch_size: Texts in an update.
        **options: Those of Hugging Face's trainer.
    """

    loss_is_scaled_for_ga = False  # else gradients would grow with the number of accumulated parts

    def __init__(self, *, batch_size: int, **options: Any) -> None:  # noqa: ANN401  the library's own
        super().__init__(**options)
        self._batch_size = batch_size
        self._sums: dict[str, float] = defaultdict(float)
        self._counts: dict[str, int] = defaultdict(int)

    def training_step(self, model: Any, inputs: dict[str, Tensor], num_items_in_batch: Any = None) -> Tensor:  # noqa: ANN401
        """Take gradients of one part of a batch; after the last of them, share them with the other processes."""
        loss: Tensor = super().training_step(model, inputs, num_items_in_batch)
        if self.accelerator.num_processes > 1 and self.accelerator.sync_gradients:
            processes.average_gradients(self.model.parameters(), self.accelerator)
        return loss

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the means of the terms since the last time."""
        if "loss" in logs and self._counts:
            logs |= {name: self._sums[name] / count for name, count in self._counts.items()}
            self._sums.clear()
            self._counts.clear()
        super().log(logs, start_time)

    def check_finite(self, loss: Tensor, terms: Mapping[str, float]) -> None:
        """End a training whose loss is no number."""
        if not torch.isfinite(loss):
            shown = ", ".join(f"{name} {value:g}" for name, value in terms.items())
            raise ModelError(
                f"the loss is not a finite number at step {self.state.global_step + 1} ({shown}); "
                "try a lower learning rate or weight."
            )

    def count(self, values: Mapping[str, float]) -> None:
        """Add terms to what is logged next."""
        for name, value in values.items():
            self._sums[name] += value
            self._counts[name] += 1

    def publish(self, values: Mapping[str, float], prefix: str) -> dict[str, float]:
        """Log a validation and tell the callbacks of it."""
        metrics = {f"{prefix}_{name}": value for name, value in values.items()}
        self.log(dict(metrics))
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)  # type: ignore[has-type]
        return metrics

    def mean(self, values: Sequence[float]) -> float:
        """Average over batches and processes."""
        return processes.mean(float(np.mean(values)), self.accelerator)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:  # noqa: ANN401  the library's own signature
        """Write a checkpoint; a disk that is full or cannot be written is said in one sentence."""
        with saving(Path(self.args.output_dir)):
            super()._save_checkpoint(model, trial)

    def _get_train_sampler(self, train_dataset: Any = None) -> LengthSampler:  # noqa: ANN401  the library's own signature
        items = self.train_dataset if train_dataset is None else train_dataset
        return LengthSampler([len(item.ids) for item in items], batch=self._batch_size, seed=self.args.seed)
