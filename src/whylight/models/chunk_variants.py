"""The chunks of a document under many coalitions: each distinct variant of a chunk once.

A chunk is encoded without sight of the others, so that coalitions which agree on a chunk share its encoding, of which
only the summaries of labels are kept. Chunk boundaries are those of the untouched document; `delete` shortens the chunk
that it is in, and a chunk of which nothing is left contributes nothing.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.errors import IncompatibleError
from whylight.models.outcomes import distinct
from whylight.views.batch import Removal
from whylight.views.cache import Answer, Cache
from whylight.views.tokens import TokenBatch, TokenWindow

NOTHING = -1
"""Stands for the row of a chunk of which nothing is left."""

Chunk = tuple[TokenWindow, Ints]
"""A piece of a row, its features numbered from 0, and which features of the document those are."""


def chunks_of(window: TokenWindow, size: int) -> list[Chunk]:
    """Cut a row into chunks."""
    return [piece.alone() for piece in window.cut(size)]


def variants_of(chunks: Sequence[Chunk], keep: Bools, removal: Removal) -> tuple[TokenBatch, Ints]:
    """Return the distinct variants of each chunk as rows, and the row of each chunk, `[coalitions, chunks]`."""
    found: list[TokenBatch] = []
    place = np.full((len(keep), len(chunks)), NOTHING)
    count = 0
    for number, (chunk, features) in enumerate(chunks):
        kept = keep[:, features]
        first, which = distinct(kept)
        rows = _one_draw(removal, chunk, kept[first])
        filled = np.flatnonzero(rows.lengths)
        numbers = np.full(len(first), NOTHING)
        numbers[filled] = count + np.arange(len(filled))
        place[:, number] = numbers[which]
        if len(filled):
            found.append(rows.take(filled))
            count += len(filled)
    return _together(found), place


def _one_draw(removal: Removal, chunk: TokenWindow, keep: Bools) -> TokenBatch:
    """Return what coalitions make of a chunk; draws of several chunks could not be told which of them go together."""
    found = removal(chunk, keep)
    if found.weights is not None or not isinstance(found.batch, TokenBatch):
        raise IncompatibleError(f"the remover '{removal.name}' draws several texts, and this model reads chunks.")
    return found.batch


class Shelf:
    """The summaries of some labels, as they lie in a cache that is shared with those who look at other labels.

    Args:
        cache: The cache; an answer is about the labels that it names.
        labels: The labels that are wanted.
    """

    def __init__(self, cache: Cache, labels: tuple[int, ...]) -> None:
        self._cache = cache
        self.labels = labels
        self._places: dict[tuple[int, ...], Ints | None] = {}

    def find(self, key: bytes) -> Answer | None:
        """Return the answer to a row if it is about all labels that are wanted."""
        answer = self._cache.get(key)
        return None if answer is None or self._place(answer.columns) is None else answer

    def to_compute(self, keys: Iterable[bytes]) -> tuple[int, ...]:
        """Return the labels to compute of unknown rows: the wanted ones, and those that others had wanted of them."""
        others = {self._cache[key].columns for key in set(keys) if key in self._cache and self.find(key) is None}
        return tuple(sorted(set(self.labels).union(*others)))

    def keep(self, answers: dict[bytes, Answer]) -> None:
        """Put answers into the cache; those that were in it count as just used."""
        self._cache.update(answers)

    def table(self, answers: Iterable[Answer], *, width: int) -> Floats:
        """Return the summaries of the wanted labels, `[answers, labels, width]`, and at least one row."""
        rows = [answer.values[self._place(answer.columns)] for answer in answers]
        return np.stack(rows) if rows else np.zeros((1, len(self.labels), width))

    def _place(self, columns: tuple[int, ...]) -> Ints | None:
        """Return where the wanted labels stand among others, or None if one is missing."""
        if columns not in self._places:
            number = {column: place for place, column in enumerate(columns)}
            known = all(label in number for label in self.labels)
            self._places[columns] = np.asarray([number[label] for label in self.labels]) if known else None
        return self._places[columns]


def _together(parts: Sequence[TokenBatch]) -> TokenBatch:
    """Lay rows of different lengths under each other."""
    if not parts:
        none = np.empty((0, 0), dtype=np.int64)
        return TokenBatch(none, none, none[:, 0:0].reshape(0))
    zeroed = [part.zeroed for part in parts if part.zeroed is not None]
    return TokenBatch(
        _stack_uneven([part.ids for part in parts]),
        _stack_uneven([part.types for part in parts]),
        np.concatenate([part.lengths for part in parts]),
        _stack_uneven(zeroed) if zeroed else None,
    )


def _stack_uneven(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    width = max(array.shape[1] for array in arrays)
    return np.concatenate([np.pad(array, ((0, 0), (0, width - array.shape[1]))) for array in arrays])
