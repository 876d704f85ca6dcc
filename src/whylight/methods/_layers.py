"""Going through the layers of a model, the first above the embeddings: which ones, and what flows down them."""

from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor
from torch.nn import functional

from whylight.core.errors import SettingError

T = TypeVar("T")


def up_to(layers: Sequence[T], layer: int | None) -> Sequence[T]:
    """Return the first so many layers, or all of them for None; a layer that the model has not is refused."""
    if layer is None:
        return layers
    if not 1 <= layer <= len(layers):
        raise SettingError(f"there is no layer {layer}: this model has {len(layers)}, counted from 1.")
    return layers[:layer]


def with_residual(attention: Tensor) -> Tensor:
    """Return the row-normalised (A + I) / 2 of attention matrices `[blocks, size, size]`."""
    mixed = (attention + torch.eye(attention.shape[-1]).to(attention)) / 2
    return mixed / mixed.sum(-1, keepdim=True)


def follow(layers: Sequence[Tensor], rows: Tensor) -> Tensor:
    """Return rows B_L ... B_1, `[rows, positions]`.

    Args:
        layers: The matrices B, the first layer first, as the blocks on their diagonal `[blocks, size, size]`.
        rows: `[rows, positions]`; the last block may reach beyond them.
    """
    blocks, size = layers[0].shape[:2]
    missing = blocks * size - rows.shape[1]
    cut = functional.pad(rows, (0, missing)).reshape(-1, blocks, size)
    for layer in reversed(layers):
        cut = torch.einsum("rbi,bij->rbj", cut, layer)
    return cut.flatten(1)[:, : rows.shape[1]]
