"""What a fit of an attribution network is asked to do, the texts that it learns from, and its trainer.

The network learns from the model's own answers: labels of the texts are not looked at. A checkpoint is chosen by the
mean of a metric over validation texts, in the direction in which the metric is better; the published search stopped
early by "lower is better" for every metric, and scored a trial by its last value. Texts are validated after every
epoch, where the published code does so three times an epoch.

Reference: Barkan et al. 2024, sections 3.1 and 4: AdamW, 4e-5, 10 epochs, batches of 20, linear decay without warm-up,
and, from the published code, weight decay 0.01 and no clipping of gradients. Cost: for each text and epoch three
forward and backward passes, two of them of the model; for each validation text the passes of the metric.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, get_type_hints

import numpy as np
import torch
from torch import Tensor

from whylight.core.arrays import Floats, Ints
from whylight.core.encoded import Encoded
from whylight.core.errors import SettingError, unknown
from whylight.core.inputs import JsonValue
from whylight.core.labels import Target
from whylight.core.setting import Setting
from whylight.core.text import text_of
from whylight.data.dataset import Dataset
from whylight.methods._dual_mask import Item, classes_of, terms_of
from whylight.models.attributor import TokenAttributor
from whylight.training import processes
from whylight.training.base import TermTrainer
from whylight.views.attributed import AttributedView, Measure, Told
from whylight.views.attributor import DualMask, Reading
from whylight.views.batch import Removal
from whylight.views.cache import Cache
from whylight.views.classifier import Classifier, Request
from whylight.views.tokens import TokenWindow

WEIGHTS = ("prediction", "inverse", "sparsity")
"""The weights of the loss, which are searched between 0 and 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRecipe:
    """One fit.

    Attributes:
        mask: What the network is asked to be good at.
        epochs: Passes over the texts.
        learning_rate: At the start; it falls to 0.
        batch_size: Texts in an update.
        micro_batch: Texts in a pass, where a whole batch does not fit.
        search_epochs: Passes over the texts of a search, for each trial.
        search_texts: Texts that a search learns from; fewer, if there are fewer.
        seed: Of everything random.
    """

    mask: DualMask = field(default_factory=DualMask)
    epochs: int = 10
    learning_rate: float = 4e-5
    batch_size: int = 20
    micro_batch: int | None = None
    search_epochs: int = 2
    search_texts: int = 450
    seed: int = 0

    @property
    def asked(self) -> dict[str, JsonValue]:
        """All of it as JSON."""
        found: dict[str, JsonValue] = json.loads(json.dumps(asdict(self)))
        return found


def settings_of(kind: type, *, skip: tuple[str, ...] = ()) -> dict[str, Setting]:
    """Return the fields of a recipe as settings, by name."""
    hints = get_type_hints(kind)
    own: Any = fields(kind)
    return {one.name: Setting(one.name, hints[one.name], one.default) for one in own if one.name not in skip}


NUMBERS = settings_of(FitRecipe, skip=("mask",))
"""The numbers of a fit, by name."""
MASK = settings_of(DualMask)
"""The settings of its loss, by name."""


def fit_recipe(given: Mapping[str, object]) -> FitRecipe:
    """Make a recipe of numbers and settings by name; a name that does not exist is refused with those that do."""
    for name in given:
        if name not in NUMBERS and name not in MASK:
            raise unknown("setting of a fit", name, [*NUMBERS, *MASK])
    numbers: dict[str, Any] = {name: NUMBERS[name].parse(value) for name, value in given.items() if name in NUMBERS}
    mask: dict[str, Any] = {name: MASK[name].parse(value) for name, value in given.items() if name in MASK}
    recipe = FitRecipe(mask=DualMask(**mask), **numbers)
    for name in ("epochs", "learning_rate", "batch_size", "search_epochs", "search_texts"):
        if getattr(recipe, name) <= 0:
            raise SettingError(f"the setting '{name}' must be above 0, not {getattr(recipe, name)}.")
    for name in WEIGHTS:
        if getattr(recipe.mask, name) < 0:
            raise SettingError(f"the weight '{name}' must be 0 or more, not {getattr(recipe.mask, name):g}.")
    processes.parts_of(recipe.batch_size, recipe.micro_batch)
    return recipe


@dataclass(frozen=True, slots=True, eq=False)
class FitItem:
    """One target of one text, as a network learns from it.

    Attributes:
        encoded: The text.
        target: The label that the model predicts.
        told: What is said of it, which never changes.
        probabilities: What the model says of the text.
        reading: The text as the network reads it.
        ids: Tokens of its first window, by which batches are put together.
        cache: What the model answered about the text before.
    """

    encoded: Encoded
    target: Target
    told: Told
    probabilities: Floats
    reading: Reading
    ids: Ints
    cache: Cache


@dataclass(frozen=True, slots=True, eq=False)
class FitTexts:
    """Makes items and views of texts in front of a classifier.

    Attributes:
        classifier: What is explained; it stays as it is.
        removal: What "removed" means to the metric.
    """

    classifier: Classifier
    removal: Removal

    def items(self, data: Dataset, network: TokenAttributor) -> list[FitItem]:
        """Ask the classifier about every text, once; of a multi-label model, each label that it predicts is an item."""
        found = []
        for record in data:
            encoded = self.classifier.encode(text_of(record.example), unit="word", long="window")
            cache: Cache = {}
            every = tuple(Target(i, name) for i, name in enumerate(self.classifier.labels.names))
            view = self._view(encoded, every, cache)
            targets, _ = self.classifier.labels.resolve("predicted", view.probabilities)
            reading, window = network.read(view), encoded.windows[0]
            ids = window.ids if isinstance(window, TokenWindow) else np.zeros(0, dtype=np.int64)
            told = [view.told(target.index) for target in targets]
            found += [
                FitItem(encoded, target, own, view.probabilities, reading, ids, cache)
                for target, own in zip(targets, told, strict=True)
            ]
        return found

    def viewed(self, item: FitItem) -> Item:
        """Look at an item; views hold embeddings, and are made when they are needed."""
        view = self._view(item.encoded, (item.target,), item.cache)
        view.probabilities = item.probabilities
        return Item(view, 0, item.told, item.reading)

    def _view(self, encoded: Encoded, targets: tuple[Target, ...], cache: Cache) -> AttributedView:
        request = Request(targets, "probability", removal=self.removal, cache=cache)
        view = self.classifier.offers[AttributedView](encoded, request)
        if not isinstance(view, AttributedView):
            raise TypeError("a classifier must offer what it says it does")
        return view


def collate(items: Sequence[FitItem]) -> dict[str, list[FitItem]]:
    """Put items into a batch, as a trainer moves it about."""
    return {"items": list(items)}


class AttributionTrainer(TermTrainer):
    """Fits an attribution network.

    Args:
        network: The network, with its tokenizer.
        texts: Makes views of items.
        metrics: What checkpoints are measured by; the first one chooses.
        **options: Those of `TermTrainer`.
    """

    def __init__(
        self,
        network: TokenAttributor,
        texts: FitTexts,
        metrics: Mapping[str, Measure],
        **options: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(model=network.network, data_collator=collate, **options)
        self._attributor, self._texts, self._metrics = network, texts, metrics

    def compute_loss(
        self,
        model: Any,  # noqa: ANN401, ARG002  the one that the attributor holds
        inputs: dict[str, Any],
        return_outputs: bool = False,  # noqa: FBT001, FBT002, ARG002  the library's own signature
        num_items_in_batch: Any = None,  # noqa: ANN401, ARG002
    ) -> Tensor:
        """Compute the dual-mask loss of a batch."""
        items = [self._texts.viewed(one) for one in inputs["items"]]
        mask = self._attributor.mask
        terms = terms_of(items, self._maps(items), self._attributor)
        loss = terms.total(mask).mean()
        values = {name: float(getattr(terms, name).detach().mean()) for name in WEIGHTS}
        self.check_finite(loss, values)
        self.count(values)
        return loss

    def evaluate(self, eval_dataset: Any = None, ignore_keys: Any = None, metric_key_prefix: str = "eval") -> Any:  # noqa: ANN401, ARG002
        """Validate: the mean of each metric, and the number that checkpoints are chosen by, of which less is better."""
        started = time.monotonic()
        self._attributor.network.eval()
        found: dict[str, list[float]] = {name: [] for name in self._metrics}
        for inputs in self.get_eval_dataloader(eval_dataset):
            items = [self._texts.viewed(one) for one in inputs["items"]]
            with torch.no_grad():
                maps = self._maps(items)
            for item, own in zip(items, maps, strict=True):
                scores = item.view.to_features(own)
                for name, measure in self._metrics.items():
                    found[name].append(item.view.measure(measure, scores, item.number))
        means = {name: self._mean_of(values) for name, values in found.items()}
        signs = {name: 1 if one.spec.facts["higher_is_better"] else -1 for name, one in self._metrics.items()}
        values = {name: signs[name] * mean for name, mean in means.items()}
        values |= {"selection": -next(iter(means.values())), "seconds": time.monotonic() - started}
        return self.publish(values, metric_key_prefix)

    def _maps(self, items: Sequence[Item]) -> list[Tensor]:
        return self._attributor.maps([item.reading for item in items], classes_of(items))

    def _mean_of(self, values: Sequence[float]) -> float:
        """Average over the texts of all processes; texts of which a metric says nothing are left out."""
        own = torch.tensor(values, dtype=torch.float64, device=self.accelerator.device)
        every = processes.gathered(own, self.accelerator)
        return float(every.nanmean())


def with_weights(recipe: FitRecipe, weights: Mapping[str, float]) -> FitRecipe:
    """Put weights of the loss into a recipe."""
    own: dict[str, Any] = {name: weights[name] for name in WEIGHTS}
    return replace(recipe, mask=replace(recipe.mask, **own))
