"""An example as a model sees it: features, and the windows of token ids that carry them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from whylight.core.arrays import Bools, Ints
from whylight.core.example import Example, Span

Unit = Literal["word", "token", "sentence"]
UNITS: tuple[Unit, ...] = get_args(Unit)
Long = Literal["window", "segments", "truncate", "refuse"]
LONG: tuple[Long, ...] = get_args(Long)
NO_FEATURE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """One row of the untouched input.

    Attributes:
        ids: Token ids, special tokens included, `[tokens]`.
        types: Token type ids, `[tokens]`.
        feature: The feature that each token belongs to, or -1 where it must never be touched, `[tokens]`.
    """

    ids: Ints
    types: Ints
    feature: Ints

    @property
    def features(self) -> Ints:
        """The features that have a token here, ascending."""
        return np.unique(self.feature[self.feature != NO_FEATURE])


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """An example cut into features, and into windows if the model reads tokens.

    Attributes:
        example: The example.
        unit: What a feature is.
        spans: Where each feature stands.
        windows: Rows of token ids; empty for a model that reads text.
        notes: What the receipt must say about the cutting.
    """

    example: Example
    unit: Unit
    spans: tuple[Span, ...]
    windows: tuple[Window, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.spans)

    def segment(self, number: int) -> tuple["Encoded", Ints]:
        """Return one window as an input of its own, and which of the features it holds."""
        window = self.windows[number]
        held = window.features
        position = np.full(self.n_features + 1, NO_FEATURE)
        position[held] = np.arange(len(held))
        alone = Window(window.ids, window.types, position[window.feature])
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
        """Return what makes each row distinct."""
        keys = []
        for i, length in enumerate(self.lengths.tolist()):
            key = self.ids[i, :length].tobytes() + self.types[i, :length].tobytes()
            keys.append(key if self.zeroed is None else key + self.zeroed[i, :length].tobytes())
        return keys
