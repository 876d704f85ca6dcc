"""What stands around texts in a model's input: special tokens, or a whole prompt."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from whylight.core.arrays import Ints
from whylight.core.errors import ModelError
from whylight.views.tokens import NO_FEATURE

Offsets = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Slot:
    """A stretch of a model's input: special tokens (part -1), or the place of a text."""

    part: int
    ids: Ints
    type: int


@dataclass(frozen=True, slots=True)
class Reading:
    """How texts stand in a prompt: what is around them, and their own tokens as they are beside it.

    Attributes:
        slots: What stands where in a row.
        parts: Ids and offsets of the tokens of each part that is explained; offsets are into the part.
        notes: What the receipt must say of them.
    """

    slots: list[Slot]
    parts: dict[int, tuple[list[int], Offsets]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """What a model's input is besides the texts: slots around them, and the tokens that may stand for a removed one."""

    slots: list[Slot]
    replacements: Mapping[str, int]

    @property
    def size(self) -> int:
        """Tokens that are never touched."""
        return sum(len(slot.ids) for slot in self.slots)


def layout(tokenizer: Any, *, pair: bool) -> list[Slot]:  # noqa: ANN401
    """Find out where a tokenizer puts its special tokens, by looking at how it wraps a letter."""
    probe = tokenizer("a", "b") if pair else tokenizer("a")
    types = probe.get("token_type_ids") or [0] * len(probe["input_ids"])
    sequence = [NO_FEATURE if s is None else s for s in probe.sequence_ids(0)]
    slots = []
    for (part, kind), group in groupby(range(len(sequence)), key=lambda i: (sequence[i], types[i])):
        ids = [] if part >= 0 else [probe["input_ids"][i] for i in group]
        slots.append(Slot(part, np.asarray(ids, dtype=np.int64), kind))
    if {slot.part for slot in slots} - {NO_FEATURE} != set(range(2 if pair else 1)):
        raise ModelError("the tokenizer does not say which of its tokens come from the text.")
    return slots
