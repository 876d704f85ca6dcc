"""Fitted networks without an evaluation around them: how good they are on texts, and how alike fAML's maps are."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from scipy.stats import kendalltau

from whylight.data.dataset import Dataset
from whylight.explaining.removing import chosen_removal
from whylight.methods._dual_mask import Item, classes_of
from whylight.methods._finetuning import Best, Finetuning, finetune_all
from whylight.models.attributor import TokenAttributor, open_fitted
from whylight.training.fitting import FitTexts
from whylight.views.attributed import measure_named
from whylight.views.classifier import Classifier


def measured(
    classifier: Classifier, data: Dataset, folder: Path, columns: Mapping[str, tuple[str, str]]
) -> dict[str, float]:
    """Return the mean of each column, a metric under a remover, for the maps of a network; more is better."""
    found = {}
    for remover in dict.fromkeys(remover for _, remover in columns.values()):
        items, maps, _ = _mapped(classifier, data, folder, remover)
        scored = [(item, item.view.to_features(own)) for item, own in zip(items, maps, strict=True)]
        for column, (metric, own) in columns.items():
            if own == remover:
                measure = measure_named(metric)
                found[column] = float(np.mean([item.view.measure(measure, one, item.number) for item, one in scored]))
    return found


class _Followed(Best):
    """Notes how far each map orders the words as the first one does."""

    def follow(self) -> None:
        """Start from the map that there is."""
        self._first, self.alike = self.values, list[float]()

    def consider(self, values: torch.Tensor, step: int) -> None:  # noqa: ARG002  every step counts alike
        """Note a map instead of choosing it."""
        own = [self.item.view.to_features(one) for one in (self._first, values)]
        self.alike.append(float(kendalltau(*own).statistic))


def alikeness(classifier: Classifier, data: Dataset, folder: Path, *, steps: int, rate: float) -> float:
    """Return the median Kendall tau between the first map of a text and those after each step of finetuning."""
    items, maps, network = _mapped(classifier, data, folder, "delete")
    measure = measure_named("comprehensiveness")
    followed = [_Followed(item, values, measure) for item, values in zip(items, maps, strict=True)]
    for one in followed:
        one.follow()
    finetune_all(followed, network, Finetuning(steps=steps, rate=rate, measure=measure))
    return float(np.nanmedian([value for one in followed for value in one.alike]))


def _mapped(
    classifier: Classifier, data: Dataset, folder: Path, remover: str
) -> tuple[list[Item], list[torch.Tensor], TokenAttributor]:
    """Look at texts, and at what a network says of them."""
    classifier.model.requires_grad_(False)  # type: ignore[attr-defined]  # noqa: FBT003  torch's own signature
    network = open_fitted(classifier, str(folder))
    texts = FitTexts(classifier, chosen_removal(classifier, remover))
    items = [texts.viewed(one) for one in texts.items(data, network)]
    with torch.no_grad():
        maps = network.maps([item.reading for item in items], classes_of(items))
    return items, maps, network
