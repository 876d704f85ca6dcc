"""Tokens: what most models read. A window of ids that know their features, and a batch of rows of ids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from whylight.core.arrays import Bools, Ints
from whylight.core.encoded import Encoded, key_of
from whylight.core.errors import IncompatibleError
from whylight.core.text import Span

NO_FEATURE = -1
_ID_BYTES = 8


@dataclass(frozen=True, slots=True, eq=False)
class TokenWindow:
    """One row of the untouched input.

    Attributes:
        ids: Token ids, special tokens included, `[tokens]`.
        types: Token type ids, `[tokens]`.
        feature: The feature that each token belongs to, or -1 where it must never be touched, `[tokens]`.
        token: Number of each token in the whole text, or -1 where it belongs to the row alone, `[tokens]`.
        replacements: Ids of the tokens that may stand for a removed one, by name: `mask`, `unk`, `pad`.
        chunk_size: Tokens that the model encodes together, counted from the start; None if all of it.
        texts: The text, or both of a pair, as it was before it was cut into tokens.
        spans: Where in it each feature stands.
    """

    ids: Ints
    types: Ints
    feature: Ints
    token: Ints
    replacements: Mapping[str, int] = field(default_factory=dict)
    chunk_size: int | None = None
    texts: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()

    @property
    def features(self) -> Ints:
        """The features that have a token here, ascending."""
        return np.unique(self.feature[self.feature != NO_FEATURE])

    @property
    def blocks(self) -> tuple[Ints, ...]:
        """The features of each chunk, or of the whole row."""
        return tuple(piece.features for piece in self.cut(self.chunk_size or len(self.ids)))

    @property
    def row_bytes(self) -> int:
        """Memory for ids, types and what is zeroed."""
        return (2 * _ID_BYTES + 1) * len(self.ids)

    def alone(self) -> tuple["TokenWindow", Ints]:
        """Return the row with its features numbered from 0, and which features those are."""
        held = self.features
        position = np.where(self.feature == NO_FEATURE, NO_FEATURE, np.searchsorted(held, self.feature))
        return replace(self, feature=position, spans=tuple(self.spans[i] for i in held) if self.spans else ()), held

    def cut(self, size: int) -> tuple["TokenWindow", ...]:
        """Return the row in pieces of `size` tokens; the last one may be shorter."""
        pieces = (slice(start, start + size) for start in range(0, len(self.ids), size))
        return tuple(
            replace(
                self, ids=self.ids[some], types=self.types[some], feature=self.feature[some], token=self.token[some]
            )
            for some in pieces
        )

    def kept(self, keep: Bools) -> Bools:
        """Say which tokens stay, `[coalitions, tokens]`; what belongs to no feature always does."""
        always = np.ones((len(keep), 1), dtype=bool)  # feature -1 finds this column
        stays: Bools = np.concatenate([keep, always], axis=1)[:, self.feature]
        return stays

    def rows(self, ids: Ints, zeroed: Bools | None = None) -> "TokenBatch":
        """Return rows of the length of this one, with other ids `[rows, tokens]`."""
        return TokenBatch(ids, np.broadcast_to(self.types, ids.shape), np.full(len(ids), ids.shape[1]), zeroed)


@dataclass(frozen=True, slots=True, eq=False)
class TokenBatch:
    """Rows of token ids, padded on the right.

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

    def take(self, indices: Sequence[int] | Ints) -> "TokenBatch":
        """Return some of the rows, cut to the longest of them."""
        chosen = np.asarray(indices, dtype=np.int64)
        lengths = self.lengths[chosen]
        width = int(lengths.max())
        zeroed = None if self.zeroed is None else self.zeroed[chosen, :width]
        return TokenBatch(self.ids[chosen, :width], self.types[chosen, :width], lengths, zeroed)

    def keys(self) -> list[bytes]:
        """Return what makes each row distinct, in a few bytes: there may be millions of rows."""
        keys = []
        for i, length in enumerate(self.lengths.tolist()):
            row = self.ids[i, :length].tobytes() + self.types[i, :length].tobytes()
            # a row of which nothing is zeroed is the same under every remover
            if self.zeroed is not None and self.zeroed[i, :length].any():
                row += self.zeroed[i, :length].tobytes()
            keys.append(key_of(row))
        return keys


def stacked(batches: Sequence[TokenBatch]) -> TokenBatch:
    """Put the rows of several batches, in which nothing is zeroed, into one, padded to the longest."""
    width = max(batch.ids.shape[1] for batch in batches)

    def wide(rows: Ints) -> Ints:
        return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))

    return TokenBatch(
        np.concatenate([wide(batch.ids) for batch in batches]),
        np.concatenate([wide(batch.types) for batch in batches]),
        np.concatenate([batch.lengths for batch in batches]),
    )


def one_window(segment: Encoded) -> TokenWindow:
    """Return the one window of a segment."""
    (window, *others) = segment.windows
    if others or not isinstance(window, TokenWindow):
        raise IncompatibleError("gradients are of one window of tokens; explain the text with --long segments.")
    return window


def segment_row(segment: Encoded) -> TokenBatch:
    """Return the one window of a segment as a row."""
    window = one_window(segment)
    return TokenBatch(window.ids[None], window.types[None], np.asarray([len(window.ids)]))


def shared_layout(windows: Sequence[TokenWindow]) -> tuple[Ints, ...]:
    """Return for each window where its tokens stand if each token of the text is laid out once.

    A token that several windows hold has one place; the special tokens of a window have places of their own.
    """
    tokens = np.unique(np.concatenate([window.token for window in windows]))
    shared = tokens[tokens != NO_FEATURE]
    places, count = [], len(shared)
    for window in windows:
        special = window.token == NO_FEATURE
        place = np.searchsorted(shared, window.token)
        place[special] = count + np.arange(special.sum())
        count += int(special.sum())
        places.append(place)
    return tuple(places)
