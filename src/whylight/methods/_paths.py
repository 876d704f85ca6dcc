"""Integrating gradients along a path."""

import numpy as np
import torch
from torch import Tensor

from whylight.core.errors import SettingError


def gauss_legendre(steps: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return the nodes in [0, 1] and the weights, which sum to 1, of Gauss-Legendre quadrature."""
    if steps < 1:
        raise SettingError(f"the setting 'steps' must be at least 1, not {steps}.")
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    return torch.as_tensor((nodes + 1) / 2).to(like), torch.as_tensor(weights / 2).to(like)
