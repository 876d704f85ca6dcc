"""Putting terms together: a weighted sum, or the labels under a bound on the rest.

    joint:        L = sum of weight x term
    constrained:  min over the model, max over a >= 0, of  L_labels + a (L_rest - bound)

The multiplier a starts at 1 and climbs by RMSprop on L_rest - bound, with the learning-rate schedule of the model: it
rises while the bound is broken, and falls to 0 while it is kept.
Reference: Ferreira et al., section 3.2; Gallego-Posada et al. 2022.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Any

from torch import Tensor
from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState

from whylight.training.recipe import Recipe
from whylight.views.step import Step

SMOOTHING, SMALLEST = 0.99, 1e-8
"""Of RMSprop, as torch has them."""


@dataclass(frozen=True, slots=True, eq=False)
class Loss:
    """The terms of a batch.

    Attributes:
        total: What is minimised.
        labels: The term that teaches the labels; 0 where it is left out.
        rest: The weighted sum of the others; 0 where there are none.
        values: Each term by name, unweighted.
    """

    total: Tensor
    labels: float
    rest: float
    values: dict[str, float]


class Multiplier(TrainerCallback, ExportableState):  # type: ignore[misc]  # transformers is untyped for us
    """The multiplier of a bound; its state goes into checkpoints.

    Args:
        rate: Learning rate.
        value: Where it stands.
        square: Running mean of squared gradients.
    """

    def __init__(self, rate: float = 0.1, value: float = 1.0, square: float = 0.0) -> None:
        self.rate = rate
        self.value = value
        self.square = square

    def climb(self, excess: float, *, schedule: float = 1.0) -> None:
        """Take one step up along L_rest - bound.

        Args:
            excess: L_rest - bound.
            schedule: Learning rate of the model, as a share of its peak.
        """
        self.square = SMOOTHING * self.square + (1 - SMOOTHING) * excess**2
        self.value = max(0.0, self.value + schedule * self.rate * excess / (sqrt(self.square) + SMALLEST))

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {"args": {"rate": self.rate, "value": self.value, "square": self.square}, "attributes": {}}


def loss_of(step: Step, recipe: Recipe, *, multiplier: float = 0.0) -> Loss:
    """Compute the terms of a step; a term of weight 0 is not computed at all."""
    labels: Tensor | float = 0.0
    rest: Tensor | float = 0.0
    values: dict[str, float] = {}
    for term in recipe.terms:
        if not term.weight:
            continue
        value = term.spec.function(step, **term.settings)
        values[term.name] = float(value.detach())
        if term.spec.facts["classifies"]:
            labels = labels + term.weight * value
        else:
            rest = rest + term.weight * value
    if recipe.combine == "constrained":
        total = labels + multiplier * (rest - float(recipe.bound_train or 0.0))
    else:
        total = labels + rest
    if not isinstance(total, Tensor):
        total = 0.0 * step.passed.logits.sum()  # every weight is 0: nothing is learnt
    return Loss(total, float(_number(labels)), float(_number(rest)), values)


def _number(value: Tensor | float) -> float:
    return float(value.detach()) if isinstance(value, Tensor) else value
