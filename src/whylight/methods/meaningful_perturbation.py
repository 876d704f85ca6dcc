"""Meaningful perturbation: the smallest, smooth part of an input whose fading makes the label's probability fall.

    minimise over m in [0, 1]:   f(x * m + b * (1 - m)) + a * sum of (1 - m) + c * sum of |m_i - m_neighbour|^3
    score of a feature = 1 - m                                                        a, c: weights; b: background

Pixels do not have a number each: m is a grid of 28 x 28 numbers, which is enlarged to the picture and blurred, so that
no fine pattern can fool the network. For the same reason a picture is moved by a few pixels in each step; lengths are
those of a picture of 224 pixels, and shrink with it. The first mask fades the smallest disc in the middle that
takes 99% of what fading all takes. Patches and regions have a number each; regions have no neighbours and no disc, and
start half faded.

Reference: Fong and Vedaldi 2017, "deletion". Cost: `steps` forward and backward passes per target, and some forward
passes for the first mask. A step is one of Adam, as in the published code; the paper does not say.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import conv2d, interpolate, pad

from whylight.core import progress
from whylight.core.errors import SettingError
from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.methods._pull import grid_of
from whylight.views.gradient import Baseline
from whylight.views.soft import SoftPicture

SIDE = 224
"""Pixels of a side of pictures whose lengths the paper gives."""
BLUR, POWER, ENOUGH, DISCS = 5.0, 3.0, 0.99, 14
"""Deviation of the blur of a mask, exponent of unevenness, the fall that the first disc makes, and how many discs are
tried."""


class Weights(NamedTuple):
    """What is minimised beside the score."""

    sparsity: float
    smoothness: float


@method(
    cite="fong2017",
    signed=False,
    cost="300 forward, 300 backward",
    good_for="one smooth region that a label cannot do without",
    scores=("probability",),
)
def meaningful_perturbation(  # noqa: PLR0913  the weights and numbers of an optimisation, each with its default
    game: SoftPicture,
    *,
    sparsity: float = 1e-4,
    smoothness: float = 1e-2,
    background: Baseline = "blur",
    cells: int = 28,
    jitter: float = 4.0,
    steps: int = 300,
    rate: float = 0.1,
    seed: int = 0,
) -> Scores:
    """Optimise the smallest smooth region whose fading takes the label away."""
    for name, value, least in (("cells", cells, 1), ("steps", steps, 1), ("rate", rate, 1e-12), ("jitter", jitter, 0)):
        if value < least:
            raise SettingError(f"the setting '{name}' must be at least {least:g}, not {value:g}.")
    if min(sparsity, smoothness) < 0:
        raise SettingError("the settings 'sparsity' and 'smoothness' must be 0 or more.")
    field = Field(game, cells=cells)
    n_targets = len(game.view.score(game.view.inputs))
    progress.expect(n_targets * steps)
    found = [
        _optimised(
            Perturbed(game, field, background, jitter=jitter, seed=seed),
            target,
            Weights(sparsity, smoothness),
            steps=steps,
            rate=rate,
        )
        for target in range(n_targets)
    ]
    return Scores(np.stack(found))


class Field:
    """The numbers that are optimised, and how they become a mask of features.

    Args:
        game: The game.
        cells: Numbers on a side, at most.
    """

    def __init__(self, game: SoftPicture, *, cells: int) -> None:
        self.grid = grid_of(game.positions)
        """Rows and columns of features; None of regions."""
        self.features = self.grid or (1, len(game.positions))
        self.shape = (min(cells, self.grid[0]), min(cells, self.grid[1])) if self.grid else self.features

    def mask(self, numbers: Tensor) -> Tensor:
        """Return how far each feature is present, `[features]`."""
        if self.shape == self.features:
            return numbers.flatten()
        large = interpolate(numbers[None, None], size=self.features, mode="bilinear", align_corners=False)
        for axis in (0, 1):
            large = _blurred(large, BLUR * self.features[axis] / SIDE, axis)
        return large.flatten().clamp(0, 1)

    def unevenness(self, numbers: Tensor) -> Tensor:
        """Return the cubed differences of neighbours, added up; none, where features have no neighbours."""
        if self.grid is None:
            return numbers.new_zeros(())
        down, across = numbers.diff(dim=0), numbers.diff(dim=1)
        return down.abs().pow(POWER).sum() + across.abs().pow(POWER).sum()

    def discs(self, like: Tensor) -> Tensor:
        """Return masks that fade a disc in the middle, the smallest first, `[discs, rows, columns]`."""
        rows, columns = (torch.linspace(-1, 1, size).to(like) for size in self.shape)
        far = (rows[:, None].square() + columns[None].square()).sqrt()
        radii = torch.linspace(math.sqrt(2) / DISCS, math.sqrt(2), DISCS).to(like)
        return (far[None] > radii[:, None, None]).to(like)


class Perturbed:
    """A game that is asked about masks of a picture that is moved, by a generator of its own.

    Args:
        game: The game.
        field: What masks are made of.
        background: What shows where nothing is present.
        jitter: Pixels that a picture of 224 is moved by, at most.
        seed: Of the generator.
    """

    def __init__(self, game: SoftPicture, field: Field, background: Baseline, *, jitter: float, seed: int) -> None:
        self.game, self.field, self._background = game, field, background
        self._generator = torch.Generator().manual_seed(seed)
        pixels = field.grid is not None and field.features[0] * field.features[1] == len(game.view.inputs)
        self._most = [round(jitter * size / SIDE) if pixels else 0 for size in field.features]

    def score(self, numbers: Tensor, target: int) -> Tensor:
        """Return the score of a target with a mask, and moved."""
        points = self.game.points(self.field.mask(numbers)[None], background=self._background)
        if any(self._most):
            shifts = [int(torch.randint(-most, most + 1, (1,), generator=self._generator)) for most in self._most]
            grid = points.reshape(1, *self.field.features, -1)
            points = grid.roll(shifts, dims=(1, 2)).reshape(points.shape)
        return self.game.view.answers(points)[0, target]

    @torch.no_grad()
    def start(self, target: int) -> Tensor:
        """Return the first mask."""
        like = self.game.view.inputs
        if self.field.grid is None:
            return torch.full(self.field.shape, 0.5).to(like)
        discs = self.field.discs(like)
        masks = [self.field.mask(one)[None] for one in (torch.ones_like(discs[0]), *discs)]
        scores = torch.cat([self.game(one, background=self._background)[:, target] for one in masks])
        fallen = (scores[0] - scores[1:]) >= ENOUGH * (scores[0] - scores[-1])
        return discs[int(fallen.int().argmax())]


def _optimised(perturbed: Perturbed, target: int, weights: Weights, *, steps: int, rate: float) -> np.ndarray:
    """Return how far each feature is faded when the steps are done."""
    numbers = perturbed.start(target).clone().requires_grad_()
    optimiser = torch.optim.Adam([numbers], lr=rate)
    for _ in range(steps):
        with torch.enable_grad():
            loss = perturbed.score(numbers, target)
            loss = loss + weights.sparsity * (1 - numbers).sum()
            loss = loss + weights.smoothness * perturbed.field.unevenness(numbers)
            optimiser.zero_grad()
            torch.autograd.backward(loss)
        optimiser.step()
        with torch.no_grad():
            numbers.clamp_(0, 1)
        perturbed.game.view.meter.backward += 1
        progress.advance(1)
    faded: np.ndarray = (1 - perturbed.field.mask(numbers.detach())).double().cpu().numpy()
    return faded


def _blurred(field: Tensor, deviation: float, axis: int) -> Tensor:
    """Blur `[1, 1, rows, columns]` along rows or columns; beyond the border its values go on."""
    radius = math.ceil(3 * deviation)
    steps = torch.arange(-radius, radius + 1).to(field)
    kernel = (-(steps**2) / (2 * deviation**2)).exp()
    kernel = (kernel / kernel.sum()).reshape((1, 1, -1, 1) if axis == 0 else (1, 1, 1, -1))
    sides = (0, 0, radius, radius) if axis == 0 else (radius, radius, 0, 0)
    return conv2d(pad(field, sides, mode="replicate"), kernel)
