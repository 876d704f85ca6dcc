"""What trainings of classifiers, attribution networks and language models share: Hugging Face's trainer, with terms.

It keeps checkpoints, resumption, devices and precision; terms are logged as means since the last time, gradients are
averaged over processes, and each batch holds texts of similar length.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from transformers import PrinterCallback, Trainer, TrainingArguments

from whylight.core.errors import ModelError
from whylight.training import processes
from whylight.training.batches import LengthSampler
from whylight.training.folder import saving
from whylight.training.placing import uses_cpu

LOGGED = 10
"""Steps between two records of the terms, or an epoch where that is shorter."""
WARM_UP = 0.1
"""Share of the steps in which the learning rate rises, where it does."""


class Numbers(Protocol):
    """What recipes of all trainings say."""

    @property
    def epochs(self) -> int:
        """Passes over the texts."""

    @property
    def learning_rate(self) -> float:
        """At its highest."""

    @property
    def batch_size(self) -> int:
        """Items in an update."""

    @property
    def seed(self) -> int:
        """Of everything random."""


def arguments(
    recipe: Numbers,
    checkpoints: Path | None,
    *,
    items: int,
    micro_batch: int | None = None,
    **own: Any,  # noqa: ANN401  the library's own
) -> TrainingArguments:
    """Say to Hugging Face's trainer what all trainings have in common.

    Args:
        recipe: The numbers.
        checkpoints: Where checkpoints go, the best of which is taken in the end; without it, none is kept.
        items: How many items an epoch has.
        micro_batch: Items that go through the model at once; a batch without it.
        **own: What this training adds, such as `weight_decay`.
    """
    micro, parts = processes.parts_of(recipe.batch_size, micro_batch)
    kept = checkpoints is not None
    return TrainingArguments(
        output_dir=str(checkpoints or gettempdir()),  # the library makes a folder of its own where it is not told one
        num_train_epochs=recipe.epochs,
        learning_rate=recipe.learning_rate,
        per_device_train_batch_size=micro,
        per_device_eval_batch_size=micro,
        gradient_accumulation_steps=parts,
        use_cpu=uses_cpu(),
        seed=recipe.seed,
        eval_strategy="epoch",
        save_strategy="epoch" if kept else "no",
        save_total_limit=2,
        load_best_model_at_end=kept,
        metric_for_best_model="selection",
        greater_is_better=False,
        logging_strategy="steps",
        logging_steps=min(LOGGED, max(1, items // recipe.batch_size)),
        logging_nan_inf_filter=False,
        remove_unused_columns=False,
        report_to=[],
        dataloader_pin_memory=torch.cuda.is_available(),
        disable_tqdm=True,
        **own,
    )


class TermTrainer(Trainer):  # type: ignore[misc]  # transformers is untyped for us
    """Trains by terms.

    Args:
        batch_size: Texts in an update.
        **options: Those of Hugging Face's trainer.
    """

    loss_is_scaled_for_ga = False  # else gradients would grow with the number of accumulated parts

    def __init__(self, *, batch_size: int, **options: Any) -> None:  # noqa: ANN401  the library's own
        super().__init__(**options)
        self.remove_callback(PrinterCallback)  # the bar says it all
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
