"""Removers for models that read tokens.

`mask`, `pad` and `unk` overwrite the id of every piece; length and attention stay. `zero` sets the word embedding to 0.
`delete` drops the ids without tokenising again; positions close up. Special tokens are never touched.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from whylight.core.arrays import Bools
from whylight.core.encoded import Rows, Window

Remover = Callable[[Window, Bools], Rows]
"""A window and keep masks `[coalitions, features]` -> one row a coalition."""


def overwrite(window: Window, keep: Bools, *, token: int) -> Rows:
    """Put one token id in the place of every piece of the removed features."""
    kept = _kept_tokens(window, keep)
    return _rows(window, np.where(kept, window.ids, token))


def zero(window: Window, keep: Bools) -> Rows:
    """Leave the ids and ask for a word embedding of 0."""
    kept = _kept_tokens(window, keep)
    return _rows(window, np.broadcast_to(window.ids, kept.shape), zeroed=~kept)


def delete(window: Window, keep: Bools) -> Rows:
    """Drop the pieces of removed features and close up."""
    kept = _kept_tokens(window, keep)
    order = np.argsort(~kept, axis=1, kind="stable")  # kept tokens first, in reading order
    return Rows(window.ids[order], window.types[order], kept.sum(axis=1))


def removers(tokens: Mapping[str, int]) -> dict[str, Remover]:
    """Return the removers of a model by name, the default first.

    Args:
        tokens: Ids of the replacement tokens that the model has: `mask`, `unk`, `pad`.
    """
    available: dict[str, Remover] = {name: partial(overwrite, token=token) for name, token in tokens.items()}
    ordered: dict[str, Remover] = {name: available[name] for name in ("mask", "unk") if name in available}
    return {**ordered, "delete": delete, **available, "zero": zero}


def _kept_tokens(window: Window, keep: Bools) -> Bools:
    """Return which tokens stay, `[coalitions, tokens]`; feature -1 finds the column of ones at the end."""
    always = np.ones((len(keep), 1), dtype=bool)
    kept: Bools = np.concatenate([keep, always], axis=1)[:, window.feature]
    return kept


def _rows(window: Window, ids: np.ndarray[tuple[int, ...], np.dtype[np.int64]], zeroed: Bools | None = None) -> Rows:
    types = np.broadcast_to(window.types, ids.shape)
    return Rows(ids, types, np.full(len(ids), ids.shape[1]), zeroed)
