"""MaRC on pictures: the loss of equation 9 in a loop, a planted patch, and what is averaged over."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from whylight.core.errors import SettingError, WhylightError
from whylight.methods._masking import CNN
from whylight.methods.marc import marc
from whylight.views.gradient import GradientView
from whylight.views.positions import Positions
from whylight.views.soft import SoftGame

SIDE = 9


def places(side: int = SIDE) -> np.ndarray:
    return np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), axis=-1).reshape(-1, 2) + 0.5


def detector(present: Tensor) -> Tensor:
    """The class is there as far as all of a patch of 3 x 4 is."""
    patch = present.reshape(-1, SIDE, SIDE)[:, 2:5, 3:7].flatten(1)
    return 14 * (patch.mean(1, keepdim=True) - 0.5)


def game(*, backgrounds: tuple[float, ...] = (0.0,)) -> SoftGame:
    """A picture of ones, and backgrounds of other greys."""
    n = SIDE * SIDE
    names = ("white", "black", "mean")[: len(backgrounds)]
    view = GradientView(
        lambda points: logsigmoid(detector(points[..., 0]).double()),
        torch.ones(n, 1),
        baselines={name: torch.full((n, 1), one) for name, one in zip(names, backgrounds, strict=True)},
        positions=Positions(torch.arange(n), n),
    )
    return SoftGame(view, remover="white", positions=places())


def by_hand(steps: int, grounds: tuple[float, ...]) -> np.ndarray:
    """Equation 9 with the signs of equation 8, pair by pair."""
    own = torch.as_tensor(places())
    squares = (own[:, None] - own[None]).square().sum(-1).float()
    weight = torch.full((SIDE * SIDE,), CNN.weight, requires_grad=True)
    sigma = torch.full((SIDE * SIDE,), CNN.sigma, requires_grad=True)
    optimiser = torch.optim.Adam([weight, sigma], lr=0.03)

    def mask() -> Tensor:
        return torch.sigmoid((weight[:, None] * torch.exp(-squares / sigma[:, None])).sum(0))

    for _ in range(steps):
        values = mask()
        terms = []
        for ground in grounds:
            seen = [(ground + one * (1 - ground))[None] for one in (values, 1 - values)]
            kept, rest = (torch.sigmoid(detector(one)[0, 0].double()) for one in seen)
            terms.append(-kept.log() - (1 - rest).log())
        field, apart = values.reshape(SIDE, SIDE), torch.zeros(())
        for y in range(SIDE):
            for x in range(SIDE):
                for down, across in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    if y + down < SIDE and 0 <= x + across < SIDE:
                        apart = apart + (field[y, x] - field[y + down, x + across]) ** 2
        loss = torch.stack(terms).mean() + 0.6 * values.mean() ** 2 - 1.2 * sigma.log().mean() + 10 * apart / SIDE**2
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        with torch.no_grad():
            sigma.clamp_(min=0.6)
    return mask().detach().numpy()


@pytest.mark.parametrize("grounds", [(0.0,), (0.0, 0.3, 0.1)])
def test_it_is_what_the_equations_say(grounds: tuple[float, ...]) -> None:
    names = ",".join(("white", "black", "mean")[: len(grounds)])
    found = marc([game(backgrounds=grounds)], steps=6, background=names)[0]
    assert found.values[0] == pytest.approx(by_hand(6, grounds), abs=1e-5)
    assert found.resolved["preset"] == "cnn"
    assert found.resolved["background"] == names


def test_the_planted_patch_is_found() -> None:
    # on nine pixels a side, a border is a far larger share of the picture than on 224
    found = marc([game()], background="white", neighbours=0.2, sparsity=2.0, pace=4)[0]
    marked = found.values[0].reshape(SIDE, SIDE) > 0.5
    planted = np.zeros((SIDE, SIDE), dtype=bool)
    planted[2:5, 3:7] = True
    assert (marked & planted).sum() / (marked | planted).sum() >= 0.8
    assert not found.notes


def test_presets_have_backgrounds_of_their_own_and_backgrounds_must_be_there() -> None:
    with pytest.raises(WhylightError, match="there is no soft form of 'blur'"):
        marc([game()], preset="vit", steps=1)
    with pytest.raises(WhylightError, match="there is no soft form of 'red'"):
        marc([game()], background="white,red", steps=1)
    with pytest.raises(SettingError, match="unknown preset 'photo'"):
        marc([game()], preset="photo", steps=1)  # type: ignore[arg-type]


def test_neighbours_are_those_of_a_grid() -> None:
    row = GradientView(
        lambda points: logsigmoid(points.sum((1, 2))[:, None].double()),
        torch.ones(5, 1),
        baselines={"zero": torch.zeros(5, 1)},
        positions=Positions(torch.arange(5), 5),
    )
    text = SoftGame(row, remover="zero", positions=np.arange(5.0)[:, None])
    with pytest.raises(SettingError, match="'neighbours' is for features on a grid"):
        marc([text], neighbours=1.0, steps=1)
