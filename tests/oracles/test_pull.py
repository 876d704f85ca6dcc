"""The pull between features of a grid, by shifts, against the sum over all pairs."""

import numpy as np
import pytest
import torch

from whylight.methods._pull import Pull, _felt_rings, _rings, grid_of, grid_pull


def places(rows: int, columns: int) -> np.ndarray:
    return np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"), axis=-1).reshape(-1, 2) + 0.5


def dense(weight: torch.Tensor, width: torch.Tensor, *, radius: int) -> torch.Tensor:
    own = torch.as_tensor(places(*weight.shape), dtype=weight.dtype)
    apart = own[:, None] - own[None]
    near = (apart.abs() <= radius).all(-1)
    pull = weight.reshape(-1, 1) * (-apart.square().sum(-1) / width.reshape(-1, 1)).exp() * near
    return pull.sum(0).reshape(weight.shape)


def test_shifts_add_up_to_all_pairs_and_so_do_gradients() -> None:
    draw = torch.Generator().manual_seed(0)
    for rows, columns, radius in ((7, 9, 20), (9, 5, 2), (1, 6, 3)):
        start = torch.rand((2, rows, columns), generator=draw, dtype=torch.float64) + 0.5
        wanted = torch.rand((rows, columns), generator=draw, dtype=torch.float64)
        found = []
        for pull in (grid_pull, dense):
            weight, width = (one.clone().requires_grad_() for one in start)
            made = pull(weight, width, radius=radius)
            (made * wanted).sum().backward()
            found.append((made.detach(), weight.grad, width.grad))
        for one, other in zip(*found, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


def test_a_grid_is_known_by_its_places_and_nothing_else_is_one() -> None:
    assert grid_of(places(4, 6)) == (4, 6)
    assert grid_of(places(1, 5)) == (1, 5)
    assert grid_of(places(4, 6)[:-1]) is None
    assert grid_of(places(4, 6)[::-1]) is None
    assert grid_of(places(4, 6) * 2) is None
    assert grid_of(np.arange(5.0)[:, None]) is None


def test_many_features_are_pulled_at_as_few_are() -> None:
    rows, columns = 36, 40  # more than have a matrix
    weight, width = torch.rand((2, rows * columns), generator=torch.Generator().manual_seed(1)) + 0.5
    found = Pull(places(rows, columns), weight)(weight, width)
    expected = dense(weight.reshape(rows, columns), width.reshape(rows, columns), radius=20).flatten()
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_distances_that_are_left_out_are_less_than_rounding(dtype: torch.dtype) -> None:
    draw = torch.Generator().manual_seed(2)
    for widest in (1.2, 4.0, 12.0):
        weight = 6 * torch.rand((30, 30), generator=draw, dtype=torch.float64) - 3
        width = widest * (0.5 + torch.rand((30, 30), generator=draw, dtype=torch.float64) / 2)
        felt = _felt_rings(weight.to(dtype), width.to(dtype), 20)
        assert 0 < len(felt) < len(_rings(20))
        nearest = max(square for square, _ in felt)
        left_out = sum(
            len(shifts) * weight.abs().max() * torch.exp(-square / width.max())
            for square, shifts in _rings(20)
            if square > nearest
        )
        assert 0 < left_out < torch.finfo(dtype).eps / 10
        found = grid_pull(weight.to(dtype), width.to(dtype)).double()
        exact = dense(weight, width, radius=20)
        assert (found - exact).abs().max() < 64 * torch.finfo(dtype).eps * exact.abs().max()
