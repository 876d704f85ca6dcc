"""Following weights from the head's row down through the layers."""

import torch
from torch import Tensor


def with_residual(attention: Tensor) -> Tensor:
    """Return the row-normalised (A + I) / 2 of an attention matrix `[positions, positions]`."""
    mixed = (attention + torch.eye(len(attention)).to(attention)) / 2
    return mixed / mixed.sum(-1, keepdim=True)


def follow(layers: Tensor, row: Tensor) -> Tensor:
    """Return row B_L ... B_1, `[positions]`, for layers B `[layers, positions, positions]`, the first layer first."""
    for layer in reversed(layers.unbind()):
        row = row @ layer
    return row
