"""Texts as a masked language model learns from them: stretches of tokens, some of which are hidden."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whylight.core.arrays import Ints
from whylight.core.text import text_of
from whylight.data.dataset import Dataset
from whylight.models.holding import held
from whylight.models.slots import layout
from whylight.models.tokenised import tokens_of

MASKED, OTHER = 0.8, 0.9
"""Of the hidden tokens, those below the first share become the mask token, those below the second another one."""


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Some tokens of a text.

    Attributes:
        ids: Token ids, special tokens included.
        content: Where tokens of the text stand.
    """

    ids: Ints
    content: Ints


def stretches(data: Dataset, tokenizer: Any, *, limit: int) -> list[Stretch]:  # noqa: ANN401  transformers' own type
    """Cut texts into stretches of tokens."""
    with held(tokenizer):
        slots = layout(tokenizer, pair=False)
        texts = [
            np.asarray(tokens_of(tokenizer, own)[0], dtype=np.int64)
            for record in data
            for own in text_of(record.example).parts
        ]
    before = np.concatenate([np.empty(0, dtype=np.int64), *(s.ids for s in slots[: _text_slot(slots)])])
    after = np.concatenate([np.empty(0, dtype=np.int64), *(s.ids for s in slots[_text_slot(slots) + 1 :])])
    room = limit - len(before) - len(after)
    pieces = [ids[start : start + room] for ids in texts for start in range(0, len(ids), room)]
    place = len(before)
    return [Stretch(np.concatenate([before, piece, after]), np.arange(place, place + len(piece))) for piece in pieces]


def _text_slot(slots: Sequence[Any]) -> int:
    return next(number for number, slot in enumerate(slots) if slot.part == 0)


@dataclass(frozen=True, slots=True, eq=False)
class Hiding:
    """Hides tokens of a batch.

    Attributes:
        mask: The mask token.
        pad: The padding token.
        tokens: Size of the vocabulary.
        share: Share of the tokens that are hidden; one at least.
    """

    mask: int
    pad: int
    tokens: int
    share: float

    def __call__(self, items: Sequence[Stretch], generator: torch.Generator | None = None) -> dict[str, Tensor]:
        """Put stretches into a batch; with a generator, hidden tokens are masked, all of them, and always the same."""
        width = max(len(one.ids) for one in items)
        ids, real = np.full((len(items), width), self.pad), np.zeros((len(items), width), dtype=np.int64)
        for row, one in enumerate(items):
            ids[row, : len(one.ids)], real[row, : len(one.ids)] = one.ids, 1
        tokens = torch.as_tensor(ids)
        chosen = [
            one.content[torch.randperm(len(one.content), generator=generator)[: self._count(one)].numpy()]
            for one in items
        ]
        rows = torch.as_tensor(np.repeat(np.arange(len(items)), [len(own) for own in chosen]))
        at = torch.as_tensor(np.concatenate(chosen))
        wanted = tokens[rows, at]
        fate = torch.zeros(len(at)) if generator is not None else torch.rand(len(at))
        others = torch.randint(self.tokens, (len(at),), generator=generator)
        hidden = torch.where(fate < MASKED, self.mask, torch.where(fate < OTHER, others, wanted))
        tokens[rows, at] = hidden
        return {"input_ids": tokens, "attention_mask": torch.as_tensor(real), "rows": rows, "at": at, "wanted": wanted}

    def _count(self, one: Stretch) -> int:
        return max(1, round(self.share * len(one.content)))
