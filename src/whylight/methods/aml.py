"""AML: a network that was fitted to the model says, in one pass, which tokens the prediction needs.

    a = G(x, y) in [0, 1]^k,     G minimises the dual-mask loss on many texts (pAML; see `_dual_mask`)

Idea: an attribution network G reads the text and the model's answer y, and learns to mask as much as it can such that
the masked text is answered alike and the inversely masked one is not. Fitting is done once, by `whylight fit aml`. With
`steps` above 0 the network is finetuned on the instance (fAML), and of all maps on the way the one that `metric` likes
best is kept: a best of `steps` + 1 by that very metric, which is to be remembered when methods are compared by it.

y is the model's own answer F(x). For a label that the model does not predict, which somebody must have named, it is
one-hot; the receipt says so. Where labels do not exclude each other, each is a question of its own with two answers.

Reference: Barkan et al. 2024. Cost: one forward pass of the model, and one of the network per target; finetuning takes
`steps` times two forward and backward passes of the model and one of the network, and the passes of the metric.

The published code differs: G starts from the weights of the model itself, not from the pretrained encoder (see
`whylight fit`); its word embeddings are frozen, the prediction embedding is divided by the number of classes and L_a by
all positions (`--set published=true` when fitting); one class embedding is never trained, because it stands at the
padding index, which is not offered. A text that fills G up loses a token there; here it is read in windows.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import Tensor

from whylight.core import progress
from whylight.core.errors import SettingError
from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.methods._dual_mask import Item, classes_of, items_of
from whylight.methods._finetuning import Best, Finetuning, finetune_all, finetune_heads
from whylight.views.attributed import AttributedView, measure_named
from whylight.views.attributor import Attributor

if TYPE_CHECKING:
    from whylight.core.inputs import JsonValue

Trainable = Literal["all", "head"]
AUTO = "auto"
RATES: dict[Trainable, float] = {"all": 4e-5, "head": 2e-3}
"""The paper's rate; a head alone has a hundred times fewer weights to reach a map with, and takes larger steps."""
FOLDER = "a fitted folder (--set folder=DIR), which `whylight fit aml` makes"


@method(
    cite="barkan2024",
    signed=False,
    cost="1 forward, and 1 of a fitted network",
    good_for="very many texts of one model: one pass each, once a network is fitted",
    scores=("probability",),
    given={"folder": FOLDER},
)
def aml(
    views: Sequence[AttributedView],
    *,
    folder: str = "",
    steps: int = 0,
    trainable: Trainable = "all",
    metric: str = AUTO,
    rate: float | Literal["auto"] = "auto",
) -> list[Scores]:
    """Score words by the mask of a network that was fitted to the model; steps=10 finetunes it on the text."""
    if not folder:
        raise SettingError(f"'aml' needs {FOLDER}.")
    if steps < 0:
        raise SettingError(f"the setting 'steps' must be 0 or more, not {steps}.")
    own_rate = RATES[trainable] if rate == "auto" else rate
    if own_rate <= 0:
        raise SettingError(f"the setting 'rate' must be above 0, not {rate:g}.")
    network = views[0].open(folder)
    name = network.metric if metric == AUTO else metric
    measure = measure_named(name)
    items = [item for view in views for item in items_of(view, network)]
    best = [Best(item, values, measure) for item, values in zip(items, _first_maps(items, network), strict=True)]
    interrupted = False
    if steps:
        progress.expect(steps * len(items))
        finetune = finetune_all if trainable == "all" else finetune_heads
        try:
            finetune(best, network, Finetuning(steps=steps, rate=own_rate, measure=measure))
        except KeyboardInterrupt:
            interrupted = True
    notes = network.notes
    if interrupted:
        notes = (*notes, "interrupted while finetuning; the best maps so far")
    elif steps:
        notes = (*notes, f"the best of {steps + 1} maps by {name}: compare it with other methods by another metric")
    resolved: dict[str, JsonValue] = {"metric": name, "rate": own_rate}
    return [replace(_scores(view, best, notes), resolved=resolved, interrupted=interrupted) for view in views]


def _first_maps(items: Sequence[Item], network: Attributor) -> list[Tensor]:
    """Return the maps of the network as it was fitted."""
    with torch.no_grad():
        maps = network.maps([item.reading for item in items], classes_of(items))
    for item in items:
        item.view.meter.forward += len(item.reading.rows)
    return maps


def _scores(view: AttributedView, best: Sequence[Best], notes: tuple[str, ...]) -> Scores:
    """Put the maps of a text's targets together."""
    own = [one for one in best if one.item.view is view]
    values = np.stack([view.to_features(one.values) for one in own])
    named = [view.request.targets[one.item.number].label for one in own if one.item.told.named]
    if named:
        labels = ", ".join(f"'{label}'" for label in named[:3]) + (" and others" if named[3:] else "")
        notes = (f"y is one-hot for {labels}, which the model does not predict; else it is the model's answer", *notes)
    windows = len(own[0].item.reading.rows)
    if windows > 1:
        notes = (f"the fitted network reads the text in {windows} overlapping windows", *notes)
    return Scores(values, notes=notes)
