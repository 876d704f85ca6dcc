"""Training a classifier by the terms of a recipe."""

import time
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from whylight.models.trainable import network
from whylight.training import processes
from whylight.training.base import TermTrainer
from whylight.training.batches import batch_of
from whylight.training.combine import Loss, Multiplier, loss_of
from whylight.training.figures import BY_DOCUMENT, Figures, multi_label, single_label
from whylight.training.recipe import Recipe
from whylight.views.step import Network, Step, probabilities

MARGIN = 1.1
"""A checkpoint keeps the bound if its terms stay below this many times the bound (Ferreira et al.)."""
UNMET = 1e6
"""Added to what a checkpoint is chosen by if it does not keep the bound."""
TOTAL, UNDER_BOUND = "total loss", "loss of the labels within the bound"


def chosen_by(recipe: Recipe, *, multi_label: bool) -> str:
    """Say what a checkpoint is chosen by; several labels per text: what Edin et al. choose by."""
    if recipe.combine == "constrained":
        return UNDER_BOUND
    return BY_DOCUMENT if multi_label and recipe.combine == "joint" else TOTAL


class ReasonTrainer(TermTrainer):
    """Trains by the terms of a recipe.

    Args:
        recipe: What is asked.
        mask_id: Token that stands for "nothing".
        teacher: A frozen copy of the model, if a term needs it.
        **options: Those of Hugging Face's trainer.
    """

    def __init__(self, recipe: Recipe, *, mask_id: int, teacher: Network | None, **options: Any) -> None:  # noqa: ANN401
        super().__init__(batch_size=recipe.batch_size, **options)
        self.recipe = recipe
        self.teacher = teacher
        self.mask_id = mask_id
        self._network: Network | None = None

    @property
    def multiplier(self) -> Multiplier:
        """The multiplier; looked up, because resuming puts another in its place."""
        found: Multiplier = next(one for one in self.callback_handler.callbacks if isinstance(one, Multiplier))
        return found

    def compute_loss(
        self,
        model: Any,  # noqa: ANN401
        inputs: dict[str, Tensor],
        return_outputs: bool = False,  # noqa: FBT001, FBT002  the library's own signature
        num_items_in_batch: Any = None,  # noqa: ANN401, ARG002
    ) -> Any:  # noqa: ANN401
        """Compute the terms of a training batch."""
        step = self._step(model, inputs, training=True)
        loss = loss_of(step, self.recipe, multiplier=self.multiplier.value)
        self.check_finite(loss.total, loss.values)
        self.count({**loss.values, **step.figures})
        if self.recipe.combine == "constrained":
            self.count({"multiplier": self.multiplier.value})
            peak, now = self.args.learning_rate, float(self._get_learning_rate())
            # parts of an accumulated batch share one step of the multiplier
            parts = self.args.gradient_accumulation_steps
            rest = processes.mean(loss.rest, self.accelerator)
            self.multiplier.climb(rest - float(self.recipe.bound_train or 0.0), schedule=now / peak / parts)
        return (loss.total, step.passed.logits) if return_outputs else loss.total

    def evaluate(self, eval_dataset: Any = None, ignore_keys: Any = None, metric_key_prefix: str = "eval") -> Any:  # noqa: ANN401, ARG002
        """Validate: the terms, how well the labels are learnt, and the number that checkpoints are chosen by."""
        started = time.monotonic()
        losses, logits, gold = self.validated(eval_dataset)
        figures = self.figures(logits, gold)
        values = {name: self.mean([getattr(one, name) for one in losses]) for name in ("labels", "rest")}
        values |= figures.values
        if figures.unlabelled:
            values["documents_without_labels"] = figures.unlabelled
        for name in losses[0].values:
            values[f"term_{name}"] = self.mean([one.values[name] for one in losses])
        values["selection"] = self._selection(values)
        values["seconds"] = time.monotonic() - started
        return self.publish(values, metric_key_prefix)

    def figures(self, logits: Tensor, gold: Tensor) -> Figures:
        """Say how well logits fit the labels."""
        several = gold.ndim > 1
        values = probabilities(logits.double(), multi_label=several).cpu().numpy()
        return multi_label(values, gold.cpu().numpy()) if several else single_label(values, gold.cpu().numpy())

    def validated(self, data: Any = None) -> tuple[list[Loss], Tensor, Tensor]:  # noqa: ANN401
        """Run the validation texts; only terms that differentiate twice need a graph, and none is kept."""
        losses, logits, gold = [], [], []
        for inputs in self.get_eval_dataloader(data):
            moved = self._prepare_inputs(inputs)
            step = self._step(self.model, moved, training=False)
            with torch.set_grad_enabled("double_backward" in self.recipe.needs):
                loss = loss_of(step, self.recipe)
            losses.append(replace(loss, total=loss.total.detach()))
            logits.append(processes.gathered(step.passed.logits.detach(), self.accelerator))
            gold.append(processes.gathered(moved["labels"], self.accelerator))
        return losses, torch.cat(logits), torch.cat(gold)

    def _selection(self, values: dict[str, float]) -> float:
        """Return what a checkpoint is chosen by; lower is better."""
        chosen = chosen_by(self.recipe, multi_label=BY_DOCUMENT in values)
        if chosen == UNDER_BOUND:
            met = values["rest"] < MARGIN * float(self.recipe.bound_validation or 0.0)
            return values["labels"] if met else UNMET + values["rest"]
        return -values[BY_DOCUMENT] if chosen == BY_DOCUMENT else values["labels"] + values["rest"]

    def _step(self, model: Any, inputs: dict[str, Tensor], *, training: bool) -> Step:  # noqa: ANN401
        if self._network is None or self._network.model is not self.accelerator.unwrap_model(model):  # type: ignore[attr-defined]
            self._network = network(self.accelerator.unwrap_model(model), mask_id=self.mask_id)
        attention = "attention" in self.recipe.needs
        return Step(self._network, batch_of(inputs), training=training, attention=attention, teacher=self.teacher)
