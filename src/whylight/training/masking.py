"""Choosing how much token masking masks: the smallest beta that does not cost the student its labels.

A small beta weighs the prediction little, so that more is masked. On validation texts each beta is tried with the model
that training starts from; the smallest is taken at which masked texts are classified as well as whole ones, up to one
point of accuracy (or of the share of right labels), and the largest where none is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice

import torch
from torch import Tensor

from whylight.objectives.token_masking import find_mask
from whylight.training.batches import batch_of
from whylight.training.recipe import Recipe
from whylight.views.step import Network, Step

NAME = "token_masking"
BETAS = (1.0, 0.5, 0.1)
POINT = 0.01
BATCHES = 8
"""Validation batches that are looked at."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What one beta does: the share of masked tokens, and how much accuracy that costs."""

    beta: float
    masked_share: float
    cost: float


def asks_for_beta(recipe: Recipe) -> bool:
    """Say whether a beta is to be chosen."""
    return any(term.name == NAME and term.settings["beta"] == "validation" for term in recipe.terms)


def with_beta(recipe: Recipe, beta: float) -> Recipe:
    """Put the chosen beta into the recipe."""
    terms = [replace(t, settings={**t.settings, "beta": beta}) if t.name == NAME else t for t in recipe.terms]
    return replace(recipe, terms=tuple(terms))


def choose_beta(network: Network, batches: Iterable[Mapping[str, Tensor]], recipe: Recipe) -> tuple[float, list[Trial]]:
    """Try every beta and return the one to take, with what each did."""
    term = next(term for term in recipe.terms if term.name == NAME)
    steps, rate = int(str(term.settings["steps"])), float(str(term.settings["rate"]))
    few = [batch_of(one) for one in islice(batches, BATCHES)]
    trials = []
    for beta in BETAS:
        masked = content = 0
        right = {"whole": 0.0, "masked": 0.0}
        for batch in few:
            step = Step(network, batch, training=False)
            mask = find_mask(step, beta=beta, steps=steps, rate=rate)
            masked, content = masked + int(mask.sum()), content + int(batch.content.sum())
            ids = {"whole": batch.ids, "masked": batch.ids.masked_fill(mask, network.mask_id)}
            with torch.no_grad():
                for name, own in ids.items():
                    right[name] += _right(network.run(batch, train=False, ids=own).logits, batch.labels) / len(few)
        trials.append(Trial(beta, masked / max(1, content), right["whole"] - right["masked"]))
    harmless = [trial for trial in trials if trial.cost <= POINT]
    return min(trial.beta for trial in harmless) if harmless else max(BETAS), trials


def _right(logits: Tensor, labels: Tensor) -> float:
    if labels.ndim == 1:
        return float((logits.argmax(-1) == labels).float().mean())
    return float(((logits > 0) == (labels > 0)).float().mean())
