"""Following weights from what the head reads down through the layers."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional


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
