"""How alike are the maps that fAML picks from? Its control is to choose among maps that differ as much."""

from pathlib import Path

import numpy as np
import torch
from scipy.stats import kendalltau

from whylight.data.dataset import Dataset
from whylight.explaining.removing import chosen_removal
from whylight.methods._dual_mask import classes_of
from whylight.methods._finetuning import Best, Finetuning, finetune_all
from whylight.models.attributor import open_fitted
from whylight.training.fitting import FitTexts
from whylight.views.attributed import measure_named
from whylight.views.classifier import Classifier


class _Followed(Best):
    """Notes how far each map orders the tokens as the first one does."""

    def consider(self, values: torch.Tensor, step: int) -> None:
        if not step:
            return
        own = [self.item.view.to_features(one) for one in (self._first, values)]
        self.alike.append(float(kendalltau(*own).statistic))

    def follow(self) -> None:
        """Start from the map that there is."""
        self._first, self.alike = self.values, list[float]()


def alikeness(classifier: Classifier, data: Dataset, folder: Path, *, steps: int, rate: float) -> float:
    """Return the median Kendall tau between the first map of a text and those after each step of finetuning."""
    classifier.model.requires_grad_(False)  # type: ignore[attr-defined]  # noqa: FBT003  torch's own signature
    network, measure = open_fitted(classifier, str(folder)), measure_named("aopc_comprehensiveness")
    texts = FitTexts(classifier, chosen_removal(classifier, "delete"))
    items = [texts.viewed(one) for one in texts.items(data, network)]
    with torch.no_grad():
        maps = network.maps([item.reading for item in items], classes_of(items))
    followed = [_Followed(item, values, measure) for item, values in zip(items, maps, strict=True)]
    for one in followed:
        one.follow()
    finetune_all(followed, network, Finetuning(steps=steps, rate=rate, measure=measure))
    return float(np.nanmedian([value for one in followed for value in one.alike]))
