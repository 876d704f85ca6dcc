"""Choosing how much token masking masks: the smallest beta that does not cost the student its labels.

A small beta weighs the prediction little, so that more is masked. On validation texts, with the model that training
starts from, betas are tried upwards, each five times the one before at most. The first is taken at which masked texts
are classified as well as whole ones, up to one point of accuracy, or of micro-F1 where a text may have several labels:
of thousands of labels nearly all are right when none is predicted. If no beta is found, the one that costs least is
taken, and the receipt says so.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from whylight.core.inputs import JsonValue
from whylight.objectives.token_masking import find_mask
from whylight.training.batches import batch_of
from whylight.training.recipe import Recipe
from whylight.views.step import Network, Step, TrainingBatch

NAME = "token_masking"
BETAS = (0.1, 0.5, 1.0, 5.0, 25.0, 125.0, 625.0, 3125.0)
"""Those of the paper's search that mask anything to speak of, and on by fives."""
POINT = 0.01
BATCHES = 8
"""Validation batches that are looked at."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What one beta does.

    Attributes:
        beta: The beta.
        masked_share: Share of the tokens of words that are masked.
        whole: Accuracy, or micro-F1 of several labels, on whole texts.
        masked: The same on masked texts.
    """

    beta: float
    masked_share: float
    whole: float
    masked: float

    @property
    def cost(self) -> float:
        """What masking costs."""
        return self.whole - self.masked

    @property
    def harmless(self) -> bool:
        """Whether that is a point at most."""
        return self.cost <= POINT


def asks_for_beta(recipe: Recipe) -> bool:
    """Say whether a beta is to be chosen."""
    return any(term.name == NAME and term.settings["beta"] == "validation" for term in recipe.terms)


def with_beta(recipe: Recipe, beta: float) -> Recipe:
    """Put the chosen beta into the recipe."""
    terms = [replace(t, settings={**t.settings, "beta": beta}) if t.name == NAME else t for t in recipe.terms]
    return replace(recipe, terms=tuple(terms))


def choose_beta(network: Network, batches: Iterable[Mapping[str, Tensor]], recipe: Recipe) -> tuple[float, list[Trial]]:
    """Try betas upwards until one is harmless; return the one to take, with what each did."""
    term = next(term for term in recipe.terms if term.name == NAME)
    steps, rate = int(str(term.settings["steps"])), float(str(term.settings["rate"]))
    few = [batch_of(one) for one in islice(batches, BATCHES)]
    trials: list[Trial] = []
    for beta in BETAS:
        trials.append(_tried_beta(network, few, beta=beta, steps=steps, rate=rate))
        if trials[-1].harmless:
            break
    return min(trials, key=lambda one: (not one.harmless, one.cost)).beta, trials


def beta_receipt(beta: float, trials: Sequence[Trial]) -> dict[str, JsonValue]:
    """Return what a receipt says about the choice; that nothing was harmless is a note in words."""
    tried: list[JsonValue] = [{**asdict(one), "cost": one.cost, "harmless": one.harmless} for one in trials]
    found: dict[str, JsonValue] = {"beta": beta, "betas_tried": tried}
    if not any(one.harmless for one in trials):
        least = min(trials, key=lambda one: one.cost)
        note = f"at no beta up to {trials[-1].beta:g} are masked texts classified within a point of whole ones"
        found["notes"] = [f"{note}: at {least.beta:g}, which was taken, masking costs {100 * least.cost:.1f} points."]
    return found


def _tried_beta(network: Network, batches: Sequence[TrainingBatch], *, beta: float, steps: int, rate: float) -> Trial:
    """Mask some batches, and classify them with and without."""
    masked = content = 0
    right = {"whole": np.zeros(2), "masked": np.zeros(2)}
    for batch in batches:
        mask = find_mask(Step(network, batch, training=False), beta=beta, steps=steps, rate=rate)
        masked, content = masked + int(mask.sum()), content + int(batch.content.sum())
        ids = {"whole": batch.ids, "masked": batch.ids.masked_fill(mask, network.mask_id)}
        with torch.no_grad():
            for name, own in ids.items():
                right[name] += _right(network.run(batch, train=False, ids=own).logits, batch.labels)
    shares = {name: float(hits / max(1.0, whole)) for name, (hits, whole) in right.items()}
    return Trial(beta, masked / max(1, content), **shares)


def _right(logits: Tensor, labels: Tensor) -> tuple[float, float]:
    """Return what accuracy or micro-F1 is the ratio of, to be added up over batches."""
    if labels.ndim == 1:
        return float((logits.argmax(-1) == labels).sum()), float(len(labels))
    given, gold = logits > 0, labels > 0
    return 2 * float((given & gold).sum()), float(given.sum() + gold.sum())
