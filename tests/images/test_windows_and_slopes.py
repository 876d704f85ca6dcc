"""Occlusion by squares of patches, and gradients that are tried before they are believed."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

import whylight as wl
from images.pictures import SIDE, Curved, Linear, classifier, picture, weights
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


def test_stretches_of_features_mean_nothing_to_regions_and_spans_nothing_to_pictures() -> None:
    halves = replace(picture(), division=Division.into_regions(np.arange(PIXELS).reshape(SIDE, SIDE) % 3))
    places = halves.coordinates(halves.own_places or ())
    game = Game(lambda keep: keep.sum(1, keepdims=True) * 1.0, n_features=3, positions=lambda: places)
    np.testing.assert_array_equal(occlusion(game), [[1.0, 1.0, 1.0]])
    with pytest.raises(SettingError, match="patches, which lie in a grid; regions have none"):
        occlusion(game, window=2)
    with pytest.raises(SettingError, match="sampler='spans' is for texts"):
        wl.explain(classifier(), picture(), method="lime", sampler="spans", progress=False)
