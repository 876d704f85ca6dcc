"""An example as a model sees it: features, and the windows of token ids that carry them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal, get_args

import numpy as np

from whylight.core.arrays import Bools, Ints
from whylight.core.example import Example, Span

Unit = Literal["word", "token", "sentence"]
UNITS: tuple[Unit, ...] = get_args(Unit)
Long = Literal["window", "segments", "truncate", "refuse"]
LONG: tuple[Long, ...] = get_args(Long)
NO_FEATURE = -1
_DIGEST = 16


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """One row of the untouched input.

    Attributes:
        ids: Token ids, special tokens included, `[tokens]`.
        types: Token type ids, `[tokens]`.
        feature: The feature that each token belongs to, or -1 where it must never be touched, `[tokens]`.
        token: Number of each token in the whole text, or -1 where it belongs to the row alone, `[tokens]`.
    """

    ids: Ints
    types: Ints
    feature: Ints
    token: Ints

    @property
    def features(self) -> Ints:
        """The features that have a token here, ascending."""
        return np.unique(self.feature[self.feature != NO_FEATURE])

    def alone(self) -> tuple["Window", Ints]:
        """Return the row with its features numbered from 0, and which features those are."""
        held = self.features
        position = np.where(self.feature == NO_FEATURE, NO_FEATURE, np.searchsorted(held, self.feature))
        return Window(self.ids, self.types, position, self.token), held

    def cut(self, size: int) -> tuple["Window", ...]:
        """Return the row in pieces of `size` tokens; the last one may be shorter."""
        pieces = (slice(start, start + size) for start in range(0, len(self.ids), size))
        fields = (self.ids, self.types, self.feature, self.token)
        return tuple(Window(*(field[piece] for field in fields)) for piece in pieces)


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """An example cut into features, and into windows if the model reads tokens.

    Attributes:
        example: The example.
        unit: What a feature is.
        spans: Where each feature stands.
        windows: Rows of token ids; empty for a model that reads text.
        notes: What the receipt must say about the cutting.
        chunk_size: Tokens that the model encodes together, counted from the start of a window; None if all of it.
    """

    example: Example
    unit: Unit
    spans: tuple[Span, ...]
    windows: tuple[Window, ...] = ()
    notes: tuple[str, ...] = ()
    chunk_size: int | None = None

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.spans)

    @property
    def blocks(self) -> tuple[Ints, ...]:
        """The features that the model encodes together: of each window, or of each chunk; they may overlap."""
        size = self.chunk_size
        pieces = [piece for window in self.windows for piece in (window.cut(size) if size else (window,))]
        return tuple(features for features in (piece.features for piece in pieces) if len(features))

    def places(self) -> tuple[Ints, ...]:
        """Return for each window where its tokens stand if each token of the text is laid out once.

        A token that several windows hold has one place; the special tokens of a window have places of their own.
        """
        tokens = np.unique(np.concatenate([window.token for window in self.windows]))
        shared = tokens[tokens != NO_FEATURE]
        places, count = [], len(shared)
        for window in self.windows:
            special = window.token == NO_FEATURE
            place = np.searchsorted(shared, window.token)
            place[special] = count + np.arange(special.sum())
            count += int(special.sum())
            places.append(place)
        return tuple(places)

    def segment(self, number: int) -> tuple["Encoded", Ints]:
        """Return one window as an input of its own, and which of the features it holds."""
        alone, held = self.windows[number].alone()
        return replace(self, spans=tuple(self.spans[i] for i in held), windows=(alone,)), held


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Model inputs of one batch, padded on the right.

    Attributes:
        ids: Token ids, `[rows, tokens]`.
        types: Token type ids, `[rows, tokens]`.
        lengths: Tokens of each row that count, `[rows]`.
        zeroed: Tokens whose word embedding is to be 0, `[rows, tokens]`, or None.
    """

    ids: Ints
    types: Ints
    lengths: Ints
    zeroed: Bools | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, indices: Sequence[int] | Ints) -> "Rows":
        """Return some of the rows, cut to the longest of them."""
        chosen = np.asarray(indices, dtype=np.int64)
        lengths = self.lengths[chosen]
        width = int(lengths.max())
        zeroed = None if self.zeroed is None else self.zeroed[chosen, :width]
        return Rows(self.ids[chosen, :width], self.types[chosen, :width], lengths, zeroed)

    def keys(self) -> list[bytes]:
        """Return what makes each row distinct, in a few bytes: there may be millions of rows."""
        keys = []
        for i, length in enumerate(self.lengths.tolist()):
            row = self.ids[i, :length].tobytes() + self.types[i, :length].tobytes()
            keys.append(key_of(row if self.zeroed is None else row + self.zeroed[i, :length].tobytes()))
        return keys


def key_of(content: bytes) -> bytes:
    """Return a short name for a content; two that differ have the same name about once in 2^64 pairs."""
    return blake2b(content, digest_size=_DIGEST).digest()
