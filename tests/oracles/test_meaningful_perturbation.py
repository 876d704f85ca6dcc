"""Meaningful perturbation on a detector that is known, and its loss in a loop."""

import numpy as np
import pytest
import torch
from torch import Tensor

from whylight.core.errors import SettingError
from whylight.methods.meaningful_perturbation import Field, meaningful_perturbation
from whylight.views.gradient import GradientView
from whylight.views.positions import Positions
from whylight.views.soft import SoftPicture

SIDE = 9


def places(side: int) -> np.ndarray:
    return np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), axis=-1).reshape(-1, 2) + 0.5


def planted(side: int = SIDE) -> np.ndarray:
    """A patch off the middle."""
    third = side // 3
    marked = np.zeros((side, side), dtype=bool)
    marked[1 : 1 + third, 1 : 1 + third] = True
    return marked


def game(side: int = SIDE) -> SoftPicture:
    """The class is there as far as a patch of the picture is."""
    patch, n = torch.as_tensor(planted(side).ravel()), side * side

    def score(points: Tensor) -> Tensor:
        return torch.sigmoid(14 * (points[:, patch, 0].mean(1, keepdim=True) - 0.5))

    view = GradientView(
        score,
        torch.ones(n, 1),
        baselines={"blur": torch.zeros(n, 1)},
        positions=Positions(torch.arange(n), n),
    )
    return SoftPicture(view, remover="blur", positions=places(side))


def test_it_follows_the_loss_of_the_paper() -> None:
    own, patch = game(), torch.as_tensor(planted())
    field = Field(own, cells=SIDE)
    masks = field.discs(torch.ones(1))
    whole = torch.sigmoid(torch.tensor(14 * 0.5))

    def probability(mask: Tensor) -> Tensor:
        return torch.sigmoid(14 * (mask[patch].mean() - 0.5))

    enough = 0.99 * (whole - probability(masks[-1]))
    numbers = next(one for one in masks if whole - probability(one) >= enough).clone().requires_grad_()
    optimiser = torch.optim.Adam([numbers], lr=0.1)
    for _ in range(5):
        apart = torch.zeros(())
        for y in range(SIDE):
            for x in range(SIDE):
                for down, across in ((0, 1), (1, 0)):
                    if y + down < SIDE and x + across < SIDE:
                        apart = apart + (numbers[y, x] - numbers[y + down, x + across]).abs() ** 3
        loss = probability(numbers) + 1e-4 * (1 - numbers).sum() + 1e-2 * apart
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        with torch.no_grad():
            numbers.clamp_(0, 1)
    found = meaningful_perturbation(game(), steps=5)
    np.testing.assert_allclose(found.values[0], (1 - numbers).detach().flatten(), atol=1e-5)


def test_the_planted_patch_is_found() -> None:
    found = meaningful_perturbation(game(), steps=300, sparsity=5e-3, smoothness=1e-3)
    marked = found.values[0].reshape(SIDE, SIDE) > 0.3
    assert (marked & planted()).sum() / (marked | planted()).sum() >= 0.8


def test_pixels_share_a_coarse_field_that_is_enlarged_and_blurred() -> None:
    side = 40
    field = Field(game(side), cells=10)
    assert field.shape == (10, 10)
    rows = torch.linspace(0, 1, 10)[:, None].expand(10, 10)
    mask = field.mask(rows).reshape(side, side)
    assert torch.allclose(mask, mask[:, :1].expand(side, side), atol=1e-6)
    assert bool((mask.diff(dim=0) >= -1e-6).all())
    assert torch.allclose(field.mask(torch.ones(10, 10)), torch.ones(side * side))
    found = meaningful_perturbation(game(side), cells=10, steps=3)
    assert found.values.shape == (1, side * side)


def test_numbers_that_nothing_is_optimised_with_are_refused() -> None:
    for name, value in (("cells", 0), ("steps", 0), ("rate", 0.0), ("jitter", -1.0)):
        with pytest.raises(SettingError, match=f"the setting '{name}' must be at least"):
            meaningful_perturbation(game(), **{name: value})  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="must be 0 or more"):
        meaningful_perturbation(game(), sparsity=-1.0)
