"""How strongly features pull at each other: sums of Gaussians of distance, with a width per source.

    pull_j = sum over i of  w_i exp(-d(i, j)^2 / width_i)

A few hundred features have a matrix of distances. Pixels have too many for one; they lie on a grid, where the sources
at one distance are a few shifted copies of the grid. So shifts within a radius are added up, the exponential is taken
once per distinct distance, and the gradient is added up the same way, backwards: nothing is laid out per pair. It is no
convolution, because each source has a width of its own. Cost on a grid: (2 radius + 1)^2 additions per pixel and way;
fewer while widths are small, since distances are left out from which all sources together give less than rounding does.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from whylight.core.arrays import Floats

RADIUS = 20
"""As published: in a square of 41 pixels around it a pixel is pulled at."""
NOTHING = 0.1
"""What all sources that are left out give at most, as a share of what numbers near 1 are rounded by."""
LEAST_EXPONENT = -80.0
"""Below which exponentials are nothing beside rounding, and take ten times as long: they leave the range of floats."""
MOST_DENSE = 1024
"""Features up to which every pair has an entry."""


Ring = tuple[float, list[tuple[int, int]]]
"""The square of a distance, and the shifts of that length."""


class Pull:
    """The pull between features at some places.

    Args:
        places: Where features lie, `[features, dims]`.
        like: A tensor of the type and on the device that is wanted.
    """

    def __init__(self, places: Floats, like: Tensor) -> None:
        self._grid = grid_of(places) if len(places) > MOST_DENSE else None
        own = torch.as_tensor(places if self._grid is None else places[:0], dtype=like.dtype, device=like.device)
        self._squares = (own[:, None] - own[None]).square().sum(-1)  # [source, feature]

    def __call__(self, weight: Tensor, width: Tensor) -> Tensor:
        """Return the pull at each feature, `[features]`, from weights and widths of sources."""
        if self._grid is None:
            found: Tensor = (weight[:, None] * (-self._squares / width[:, None]).exp()).sum(0)
            return found
        flat: Tensor = grid_pull(weight.reshape(self._grid), width.reshape(self._grid)).flatten()
        return flat


def grid_pull(weight: Tensor, width: Tensor, *, radius: int = RADIUS) -> Tensor:
    """Return the pull at each place of a grid, `[rows, columns]`, of sources within a square around it."""
    pulled: Tensor = _GridPull.apply(weight, width, radius)  # type: ignore[no-untyped-call]
    return pulled


def grid_of(places: Floats) -> tuple[int, int] | None:
    """Return rows and columns, if places are those of a whole grid, one apart, row by row; else None."""
    if places.ndim != 2 or places.shape[1] != 2:  # noqa: PLR2004
        return None
    shifted = places - places[0]
    columns = int(np.argmax(shifted[:, 0] > 0.5)) or len(places)  # noqa: PLR2004  half a row further
    if len(places) % columns:
        return None
    rows = len(places) // columns
    whole = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"), axis=-1).reshape(-1, 2)
    return (rows, columns) if np.allclose(shifted, whole, atol=1e-6) else None


class _GridPull(torch.autograd.Function):
    """The sum over shifts, with a backward of its own: autograd would keep every shifted copy."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, width: Tensor, radius: int) -> Tensor:  # noqa: ANN401  torch's own
        """Add up what sources at each distance give, shifted to where it is felt."""
        ctx.save_for_backward(weight, width)
        ctx.radius, ctx.rings = radius, _felt_rings(weight, width, radius)
        total = pad(torch.zeros_like(weight), (radius,) * 4)
        for square, shifts in ctx.rings:
            given = weight * _fallen(square, width)
            for part in _shifted(total, shifts, weight.shape, radius):
                part += given  # noqa: PLW2901  a window into the total
        return total[radius : -radius or None, radius : -radius or None].contiguous()

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, Tensor, None]:  # noqa: ANN401
        """Add up what is felt at each distance, shifted back to its source."""
        weight, width = ctx.saved_tensors
        felt = pad(slopes[0], (ctx.radius,) * 4)
        by_weight, by_width = torch.zeros_like(weight), torch.zeros_like(weight)
        for square, shifts in ctx.rings:
            share = torch.zeros_like(weight)
            for part in _shifted(felt, shifts, weight.shape, ctx.radius):
                share += part
            share *= _fallen(square, width)
            by_weight += share
            by_width += square * share
        return by_weight, by_width * weight / width.square(), None


def _fallen(square: float, width: Tensor) -> Tensor:
    """Return what is left of the pull of each source at a distance; of nearly nothing, what is still quick to take."""
    return (-square / width).clamp_(min=LEAST_EXPONENT).exp_()


def _shifted(around: Tensor, shifts: list[tuple[int, int]], shape: torch.Size, radius: int) -> Iterator[Tensor]:
    """Yield windows into a padded grid, each shifted."""
    rows, columns = shape
    for down, across in shifts:
        yield around[radius + down : radius + down + rows, radius + across : radius + across + columns]


def _felt_rings(weight: Tensor, width: Tensor, radius: int) -> list[Ring]:
    """Return the shifts at whose distance anything is felt."""
    strongest, widest, rings = float(weight.abs().max()), float(width.max()), _rings(radius)
    if not 0 < strongest < math.inf or not 0 < widest < math.inf:
        return rings
    least = NOTHING * torch.finfo(weight.dtype).eps
    reach = widest * math.log(max(1.0, strongest * (2 * radius + 1) ** 2 / least))
    return [ring for ring in rings if ring[0] <= reach]


@cache
def _rings(radius: int) -> list[Ring]:
    """Return the shifts within a square, by the square of their length."""
    rings: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for down in range(-radius, radius + 1):
        for across in range(-radius, radius + 1):
            rings[down * down + across * across].append((down, across))
    return [(float(square), shifts) for square, shifts in sorted(rings.items())]
