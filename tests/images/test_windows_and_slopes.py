"""Occlusion by squares of patches, and gradients that are tried before they are believed."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

import whylight as wl
from images.pictures import SIDE, Curved, Linear, classifier, picture, weights
from whylight.core.arrays import Bools, Floats
from whylight.core.errors import IncompatibleError, SettingError
from whylight.core.image import Division
from whylight.methods.occlusion import occlusion
from whylight.views.game import Game

PIXELS = SIDE * SIDE


class Stepped(Linear):
    """A network that rounds its answer, so that its gradient is 0 everywhere."""

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        logits = super().forward(values) * 100
        return logits * 0 + logits.round()


def test_a_gradient_that_is_nothing_is_refused_and_coarse_answers_are_not_held_against_it() -> None:
    with pytest.raises(IncompatibleError, match="its gradient is 0, though its score depends on the input"):
        wl.explain(classifier(Stepped()), picture(), method="saliency", progress=False)
    fine, coarse = (
        wl.explain(classifier(Curved().to(kind)), picture(), method="saliency", target=0, progress=False).scores[0]
        for kind in (torch.float32, torch.bfloat16)
    )
    assert np.corrcoef(fine, coarse)[0, 1] > 0.99


class OneAtATime(Curved):
    """A network that takes one picture."""

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        (one,) = values
        return super().forward(one[None])


def test_a_network_that_takes_one_picture_at_a_time_has_gradients() -> None:
    found, expected = (
        wl.explain(classifier(model), picture(), method="saliency", target=0, progress=False).scores
        for model in (OneAtATime(), Curved())
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("unit", ["patch", "pixel"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_windows_of_occlusion_are_squares(unit: str, stride: int) -> None:
    clf, shown, window = classifier(), picture(), 3
    parts = (weights(clf, 1) * (shown.array / 255)).sum(-1).reshape(14, 2, 14, 2).sum(axis=(1, 3))
    total, times = np.zeros((14, 14)), np.zeros((14, 14))
    for top, left in product(sorted({*range(0, 12, stride), 11}), repeat=2):
        inside = slice(top, top + window), slice(left, left + window)
        total[inside] += parts[inside].sum()
        times[inside] += 1
    found = wl.explain(
        clf,
        shown,
        method="occlusion",
        unit=unit,
        target="dog",
        remover="black",
        window=window,
        stride=stride,
        progress=False,
    )
    scores = found.scores[0] if unit == "patch" else found.scores[0].reshape(14, 2, 14, 2).sum(axis=(1, 3)).ravel()
    np.testing.assert_allclose(scores, (total / times).ravel(), atol=1e-4)
    assert found.provenance.forward_passes == len({*range(0, 12, stride), 11}) ** 2 + 1


@pytest.mark.parametrize("grid", [(1, 30), (9, 13), (4, 4)])
@pytest.mark.parametrize(("window", "stride"), [(1, 1), (2, 1), (5, 3), (7, 7), (40, 11)])
def test_windows_are_what_one_sees_who_lists_them_all(grid: tuple[int, int], window: int, stride: int) -> None:
    rows, columns = grid
    draw = np.random.default_rng(window)
    weights, numbers = draw.normal(size=(3, rows * columns)), np.arange(rows * columns).reshape(grid)
    weights[:, : columns // 2] = 0  # what does nothing scores 0, to the last bit

    def value(keep: Bools) -> Floats:
        return np.asarray((keep[:, None] * weights).sum(-1) ** 3)

    places = np.stack(np.divmod(numbers.ravel(), columns), axis=-1) if rows > 1 else numbers.reshape(-1, 1)
    game = Game(value, n_features=rows * columns, n_targets=3, positions=lambda: places * 1.0)
    total, times = np.zeros((3, rows * columns)), np.zeros(rows * columns)
    lasts = [max(size - window, 0) for size in grid]
    for top, left in product(*(sorted({*range(0, last, stride), last}) for last in lasts)):
        inside = numbers[top : top + window, left : left + window].ravel()
        keep = np.ones((1, rows * columns), dtype=bool)
        keep[0, inside] = False
        total[:, inside] += (value(np.ones_like(keep))[0] - value(keep)[0])[:, None]
        times[inside] += 1
    found, expected = occlusion(game, window=window, stride=stride), total / times
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found == 0, expected == 0)


def test_stretches_of_features_mean_nothing_to_regions_and_spans_nothing_to_pictures() -> None:
    halves = replace(picture(), division=Division.into_regions(np.arange(PIXELS).reshape(SIDE, SIDE) % 3))
    places = halves.coordinates(halves.own_places or ())
    game = Game(lambda keep: keep.sum(1, keepdims=True) * 1.0, n_features=3, positions=lambda: places)
    np.testing.assert_array_equal(occlusion(game), [[1.0, 1.0, 1.0]])
    with pytest.raises(SettingError, match="patches, which lie in a grid; regions have none"):
        occlusion(game, window=2)
    with pytest.raises(SettingError, match="sampler='spans' is for texts"):
        wl.explain(classifier(), picture(), method="lime", sampler="spans", progress=False)
