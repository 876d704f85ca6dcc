"""From records to batches: token ids, labels, and which tokens belong to words that people marked.

A token is evidence if the word that it belongs to is gold; special tokens never are. Texts are cut at the model's
limit, and evidence beyond it does not exist for the model.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Sampler

from whylight.core.arrays import Bools, Ints
from whylight.core.errors import InputError
from whylight.core.text import text_of
from whylight.data.dataset import Dataset, Record
from whylight.models.tokenised import encode
from whylight.views.step import TrainingBatch
from whylight.views.tokens import NO_FEATURE, one_window

WINDOW = 20
"""Batches whose texts are sorted by length together; the rest of the order stays random."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingItem:
    """One text, ready to be put into a batch.

    Attributes:
        ids: Token ids.
        types: Token type ids, if the tokenizer gives them.
        content: Tokens that belong to a word.
        labels: Numbers of its labels.
        evidence: Marked tokens of each of those labels, `[labels, tokens]`.
    """

    ids: Ints
    types: Ints | None
    content: Bools
    labels: tuple[int, ...]
    evidence: Bools


def make_items(data: Dataset, tokenizer: Any, *, names: Sequence[str], limit: int) -> list[TrainingItem]:  # noqa: ANN401
    """Encode a data set for a model with these labels."""
    numbers = {name: number for number, name in enumerate(names)}
    typed = "token_type_ids" in tokenizer("a")  # to a table of words even zeros are words (XLM)
    return [_item(record, tokenizer, numbers, limit, typed=typed) for record in data]


def _item(record: Record, tokenizer: Any, numbers: Mapping[str, int], limit: int, *, typed: bool) -> TrainingItem:  # noqa: ANN401
    encoded = encode(tokenizer, text_of(record.example), unit="word", long="truncate", limit=limit)
    window = one_window(encoded)
    content = window.feature != NO_FEATURE
    evidence = np.zeros((len(record.labels), len(window.ids)), dtype=bool)
    for row, label in enumerate(record.labels):
        if label in record.rationales:
            marks = encoded.example.marks(record.rationales[label].places, encoded.places)
            evidence[row, content] = marks[window.feature[content]]
    types = window.types if typed else None
    return TrainingItem(window.ids, types, content, tuple(numbers[name] for name in record.labels), evidence)


@dataclass(frozen=True, slots=True)
class Collator:
    """Puts items into the tensors of a batch, padded on the right.

    Attributes:
        pad: Token id of padding.
        n_labels: Number of labels.
        multi_label: Whether an example may have any number of labels.
    """

    pad: int
    n_labels: int
    multi_label: bool

    def __call__(self, items: Sequence[TrainingItem]) -> dict[str, Tensor]:
        """Return the fields of a `TrainingBatch` by name, as a trainer moves them about."""
        width = max(len(item.ids) for item in items)
        pairs = [(e, label, row) for e, item in enumerate(items) for row, label in enumerate(item.labels)]
        evidence = np.zeros((len(pairs), width), dtype=np.float32)
        for place, (example, _, row) in enumerate(pairs):
            own = items[example].evidence[row]
            evidence[place, : len(own)] = own
        types = [item.types for item in items if item.types is not None]
        return {
            "ids": _stack_padded([item.ids for item in items], width, fill=self.pad),
            **({"types": _stack_padded(types, width, fill=0)} if types else {}),
            "mask": _stack_padded([np.ones(len(item.ids), dtype=bool) for item in items], width, fill=False),
            "content": _stack_padded([item.content for item in items], width, fill=False),
            "labels": self._labels(items),
            "pair_example": torch.tensor([example for example, _, _ in pairs], dtype=torch.long),
            "pair_label": torch.tensor([label for _, label, _ in pairs], dtype=torch.long),
            "evidence": torch.from_numpy(evidence),
        }

    def _labels(self, items: Sequence[TrainingItem]) -> Tensor:
        if not self.multi_label:
            return torch.tensor([item.labels[0] for item in items], dtype=torch.long)
        labels = torch.zeros(len(items), self.n_labels)
        for row, item in enumerate(items):
            labels[row, list(item.labels)] = 1.0
        return labels


def batch_of(inputs: Mapping[str, Tensor]) -> TrainingBatch:
    """Make a batch of its fields."""
    return TrainingBatch(**inputs)


class LengthSampler(Sampler[int]):
    """Draws texts in random order, those of a batch of similar length, so that little is padded.

    Args:
        lengths: Number of tokens of each text.
        batch: Texts of an update.
        seed: Same seed and epoch, same order.
    """

    def __init__(self, lengths: Sequence[int], *, batch: int, seed: int) -> None:
        self._lengths = np.asarray(lengths)
        self._batch = batch
        self._seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        return len(self._lengths)

    def set_epoch(self, epoch: int) -> None:
        """Tell which pass over the texts this is."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        generator = np.random.default_rng((self._seed, self.epoch))
        order = generator.permutation(len(self._lengths))
        size = WINDOW * self._batch
        windows = [order[i : i + size] for i in range(0, len(order), size)]
        ordered = np.concatenate([one[np.argsort(self._lengths[one], kind="stable")] for one in windows])
        batches = [ordered[i : i + self._batch] for i in range(0, len(ordered), self._batch)]
        whole = [batches[i] for i in generator.permutation(len(batches) - 1)] + batches[-1:]  # a short one stays last
        return iter(np.concatenate(whole).tolist())


def check_labels(train: Dataset, dev: Dataset) -> None:
    """Refuse validation labels that no training text has: they could never be right."""
    seen = {label for record in train for label in record.labels}
    strange = sorted({label for record in dev for label in record.labels} - seen)
    if strange:
        more = f" and {len(strange) - 1} more" if len(strange) > 1 else ""
        raise InputError(f"the validation texts have the label '{strange[0]}'{more}, which no training text has.")
    if not train.multi_label and any(len(record.labels) != 1 for data in (train, dev) for record in data):
        raise InputError("every text needs one label to learn from; some have none.")
    if train.multi_label and not any(record.labels for record in dev):
        raise InputError("no validation text has a label, so that no checkpoint could be chosen by them.")
    if len(seen) < 2 and not train.multi_label:  # noqa: PLR2004
        raise InputError(f"all training texts have the label '{next(iter(seen), '')}'; there is nothing to tell apart.")


def _stack_padded(rows: Sequence[Any], width: int, *, fill: int | bool) -> Tensor:
    out = np.full((len(rows), width), fill, dtype=rows[0].dtype)
    for place, row in enumerate(rows):
        out[place, : len(row)] = row
    return torch.from_numpy(out)
