"""What rows of a causal model begin with, read once: keys and values of a row serve all rows that begin alike.

A causal model reads from left to right, so that what it has computed for the first tokens of a row does not depend on
what follows. Rows of a prompted model share its instruction and examples, and a text with one word removed shares what
stands before that word with the untouched one. So the states of the rows that were read last are kept; a new row is
read from its first token that differs.

    computed tokens = row - what it begins with like one that is kept

States that are more than keys and values of every token (recurrent ones) are not reused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor
from transformers.cache_utils import DynamicCache, DynamicLayer

from whylight.core.arrays import Ints
from whylight.views.tokens import TokenBatch

LEAST = 8
"""Tokens below which reuse is not worth its copies."""
MOST = 3
"""Rows whose states are kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Root:
    """A row that was read.

    Attributes:
        ids: Its tokens.
        states: Keys and values of each layer, `[1, heads, tokens, size]`.
    """

    ids: Ints
    states: Sequence[tuple[Tensor, Tensor]]

    def shared(self, rows: TokenBatch) -> Ints:
        """Return how many tokens each row begins with like this one, its last token apart: that one is read anew."""
        width = min(len(self.ids), rows.ids.shape[1])
        alike = np.logical_and.accumulate(rows.ids[:, :width] == self.ids[:width], axis=1).sum(axis=1)
        return np.asarray(np.minimum(alike, rows.lengths - 1))

    def cache(self, length: int, rows: int) -> DynamicCache:
        """Return the states of its first tokens, for so many rows at once."""
        cache = DynamicCache()
        for layer, (keys, values) in enumerate(self.states):
            both = (one[:, :, :length].expand(rows, -1, -1, -1) for one in (keys, values))
            cache.update(*both, layer)
        return cache


class Prefixes:
    """The rows that were read last.

    Args:
        usable: Whether states can be reused at all.

    Attributes:
        proven: Tokens of the longest row for which reused states have given the answer of plain calls; 0 for none.
        usable: Whether none have given another.
    """

    def __init__(self, *, usable: bool = True) -> None:
        self._roots: list[Root] = []
        self.proven, self.usable = 0, usable

    def longest(self, rows: TokenBatch) -> tuple[Root | None, Ints]:
        """Return the kept row that the rows have most in common with, and how much each has."""
        found: Root | None = None
        most = np.zeros(len(rows), dtype=np.int64)
        for root in self._roots:
            shared = root.shared(rows)
            if shared.sum() > most.sum():
                found, most = root, shared
        return found, most

    def keep(self, ids: Ints, cache: Any) -> None:  # noqa: ANN401  transformers' own type
        """Keep the states of a row; the oldest go, and those that this row holds as well."""
        states = _plain_states(cache, len(ids))
        if states is None:
            return
        others = [root for root in self._roots if not np.array_equal(root.ids, ids[: len(root.ids)])]
        self._roots = [Root(ids, states), *others][:MOST]

    def forget(self) -> None:
        """Keep nothing more."""
        self._roots = []


def common_prefix(rows: TokenBatch) -> int:
    """Return how many tokens all rows begin with, the last token of the shortest apart."""
    alike = (rows.ids == rows.ids[:1]).all(axis=0)
    return min(int(np.logical_and.accumulate(alike).sum()), int(rows.lengths.min()) - 1)


def _plain_states(cache: Any, length: int) -> list[tuple[Tensor, Tensor]] | None:  # noqa: ANN401
    """Return keys and values, if a cache is nothing but those of every token."""
    layers = getattr(cache, "layers", None)
    if not layers or any(type(layer) is not DynamicLayer for layer in layers):
        return None
    states = [(layer.keys, layer.values) for layer in layers]
    if not all(isinstance(one, Tensor) for both in states for one in both):
        return None
    whole = all(one.dim() == 4 and one.shape[0] == 1 and one.shape[2] == length for both in states for one in both)  # noqa: PLR2004
    return states if whole else None
