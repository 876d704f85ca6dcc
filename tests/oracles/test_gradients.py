"""Gradient methods on functions whose integrals are known, and against each other on real models."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import quick
import tiny
from whylight.core.errors import SettingError
from whylight.methods.deeplift import deeplift
from whylight.methods.gradient_shap import gradient_shap
from whylight.methods.input_x_gradient import input_x_gradient
from whylight.methods.integrated_gradients import integrated_gradients
from whylight.methods.saliency import saliency
from whylight.methods.sequential_integrated_gradients import sequential_integrated_gradients
from whylight.models import rules
from whylight.views.gradient import GradientView
from whylight.views.positions import Positions

POSITIONS, DIMS = 5, 3
FEATURE = torch.tensor([-1, 0, 1, 1, -1])
"""Two special tokens, a word of one piece and a word of two."""


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def make_view(score: Callable[[Tensor], Tensor], *, row_limit: int = 4, start: Tensor | None = None) -> GradientView:
    inputs = draw(POSITIONS, DIMS, seed=1)
    content = (FEATURE >= 0)[:, None]
    zero = torch.where(content, torch.zeros_like(inputs), inputs)
    other = torch.where(content, draw(1, DIMS, seed=2) if start is None else start, inputs)
    return GradientView(
        score,
        inputs,
        baselines={"mask": other, "zero": zero},
        positions=Positions(FEATURE, 2),
        rules={"rescale": rules.rescale},
        row_limit=row_limit,
    )


def gathered(per_position: Tensor) -> Any:
    """Sum positions `[targets, positions]` into the two features."""
    return torch.stack([per_position[:, 1], per_position[:, 2] + per_position[:, 3]], dim=1).numpy()


def linear(points: Tensor) -> Tensor:
    return torch.einsum("bpd,tpd->bt", points, draw(2, POSITIONS, DIMS, seed=3)) + 1.25


def cubic(points: Tensor) -> Tensor:
    """Separable: the integral of each coordinate is its own difference."""
    weights = draw(2, POSITIONS, DIMS, seed=4)
    return torch.einsum("bpd,tpd->bt", points**3, weights) + linear(points)


def product(points: Tensor) -> Tensor:
    """The sum over d of x_1d x_2d: with a zero baseline both words earn half of it."""
    return (points[:, 1] * points[:, 2]).sum(-1, keepdim=True)


def network(points: Tensor) -> Tensor:
    hidden = torch.tanh(torch.einsum("bpd,hpd->bh", points, draw(6, POSITIONS, DIMS, seed=5)))
    return hidden @ draw(6, 2, seed=6)


@pytest.mark.parametrize("baseline", ["zero", "mask"])
def test_the_gradient_of_a_linear_function_is_its_weights(baseline: Any) -> None:
    view, weights = make_view(linear), draw(2, POSITIONS, DIMS, seed=3)
    product_ = gathered((weights * view.inputs).sum(-1))
    np.testing.assert_allclose(input_x_gradient(view).values, product_, atol=1e-12)
    difference = gathered((weights * (view.inputs - view.baseline(baseline))).sum(-1))
    for method in (integrated_gradients, gradient_shap, deeplift, sequential_integrated_gradients):
        np.testing.assert_allclose(method(view, baseline=baseline).values, difference, atol=1e-6)
    np.testing.assert_allclose(saliency(view).values, gathered(weights.norm(dim=-1)), atol=1e-12)
    if baseline == "zero":
        np.testing.assert_allclose(integrated_gradients(view, baseline="zero").values, product_, atol=1e-6)


@pytest.mark.parametrize(("pooling", "order"), [("l1", 1), ("l2", 2)])
def test_norms_over_the_embedding_axis(pooling: Any, order: int) -> None:
    view, weights = make_view(linear), draw(2, POSITIONS, DIMS, seed=3)
    np.testing.assert_allclose(
        saliency(view, pooling=pooling).values, gathered(weights.norm(p=order, dim=-1)), atol=1e-12
    )
    expected = gathered((weights * view.inputs).norm(p=order, dim=-1))
    np.testing.assert_allclose(input_x_gradient(view, pooling=pooling).values, expected, atol=1e-12)


@pytest.mark.parametrize("steps", [2, 7, 50])
def test_integrated_gradients_of_a_cubic_are_its_coordinates_differences(steps: int) -> None:
    """Gauss-Legendre with two nodes is exact on the quadratic derivative."""
    view, weights = make_view(cubic), draw(2, POSITIONS, DIMS, seed=4)
    start = view.baseline("mask")
    expected = weights * (view.inputs**3 - start**3) + draw(2, POSITIONS, DIMS, seed=3) * (view.inputs - start)
    np.testing.assert_allclose(integrated_gradients(view, steps=steps).values, gathered(expected.sum(-1)), atol=1e-6)
    np.testing.assert_allclose(sequential_integrated_gradients(view).values, gathered(expected.sum(-1)), atol=1e-6)


def test_two_words_share_their_product_equally() -> None:
    view = make_view(product)
    whole = float((view.inputs[1] * view.inputs[2]).sum())
    np.testing.assert_allclose(integrated_gradients(view, baseline="zero").values, [[whole / 2, whole / 2]], atol=1e-6)
    # alone, each word earns all of it: the other one stays where it is
    np.testing.assert_allclose(
        sequential_integrated_gradients(view, baseline="zero").values, [[whole, whole]], atol=1e-6
    )


def test_integrated_gradients_are_complete() -> None:
    view = make_view(network)
    total = view.score(view.inputs) - view.score(view.baseline())
    np.testing.assert_allclose(integrated_gradients(view, steps=100).values.sum(1), total, atol=1e-6)


def test_gradient_shap_converges_to_integrated_gradients() -> None:
    view, exact = make_view(network, row_limit=1000), integrated_gradients(make_view(network), steps=100).values
    errors = [np.abs(gradient_shap(view, samples=samples).values - exact).max() for samples in (20, 20_000)]
    assert errors[1] < 0.05
    assert errors[1] < errors[0] / 3
    noisy = gradient_shap(view, samples=20_000, noise=0.05).values
    np.testing.assert_allclose(noisy, exact, atol=0.15)


def test_noise_never_moves_special_tokens() -> None:
    seen = list[Tensor]()

    def score(points: Tensor) -> Tensor:
        seen.append(points.detach())
        return points.sum((1, 2))[:, None]

    view = make_view(score)
    gradient_shap(view, samples=6, noise=2.0)
    special = FEATURE < 0
    drawn = [points for points in seen if points.shape[0] > 1]  # the ends of the way are asked for one by one
    assert sum(len(points) for points in drawn) == 6
    for points in drawn:
        assert bool((points[:, special] == view.inputs[special]).all())
        assert bool((points[:, ~special] != view.inputs[~special]).all())


@pytest.mark.parametrize("row_limit", [1, 3, 100])
def test_path_methods_do_not_depend_on_how_points_are_batched(row_limit: int) -> None:
    one, other = make_view(network, row_limit=row_limit), make_view(network, row_limit=7)
    for method in (integrated_gradients, sequential_integrated_gradients, gradient_shap):
        np.testing.assert_allclose(method(one).values, method(other).values, atol=1e-12)
    np.testing.assert_allclose(gradient_shap(one, noise=0.3).values, gradient_shap(other, noise=0.3).values, atol=1e-12)


def test_gradients_of_many_targets_are_the_same_batched_and_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    view = make_view(network)
    points = draw(4, POSITIONS, DIMS, seed=8)
    together = view.gradients(points)
    monkeypatch.setattr("whylight.views.gradient.BATCHED_LIMIT", 0)
    torch.testing.assert_close(view.gradients(points), together)


def test_a_path_of_no_step_is_refused() -> None:
    view = make_view(network)
    for call in (
        lambda: integrated_gradients(view, steps=0).values,
        lambda: gradient_shap(view, samples=0).values,
        lambda: gradient_shap(view, noise=-1.0).values,
        lambda: integrated_gradients(view, baseline="unk").values,
    ):
        with pytest.raises(SettingError):
            call()


# sequential integrated gradients on real models: the fundamental theorem of calculus, token by token


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
@pytest.mark.parametrize("baseline", ["unk", "zero"])
def test_a_token_that_travels_alone_earns_what_its_removal_costs(architecture: str, baseline: str) -> None:
    clf = quick.classifier(architecture)
    options: dict[str, Any] = {"unit": "token", "target": "all"}
    occluded = quick.run(clf, "good films but dull", "occlusion", remover=baseline, **options).scores
    travelled = quick.run(
        clf, "good films but dull", "sequential_integrated_gradients", baseline=baseline, tolerance=0.0, **options
    ).scores
    error = 2e-2 if architecture == "distilbert" else 1e-3  # the ReLU in DistilBERT's head has kinks
    np.testing.assert_allclose(travelled, occluded, atol=error * np.abs(occluded).max())


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_tolerance_bounds_the_error_of_the_quadrature(architecture: str) -> None:
    clf, text = quick.classifier(architecture), "good films but dull"
    loose, tight = (
        quick.run(clf, text, "sequential_integrated_gradients", tolerance=t, unit="token") for t in (0.01, 0.0)
    )
    assert loose.provenance.forward_passes <= tight.provenance.forward_passes
    np.testing.assert_allclose(loose.scores, tight.scores, atol=0.03 * np.abs(tight.scores).max())


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_integrated_gradients_are_complete_on_every_architecture(architecture: str) -> None:
    explanation = quick.run(quick.classifier(architecture), quick.TEXT, "integrated_gradients", steps=300, target="all")
    assert explanation.provenance.completeness_gap is not None
    gap = np.asarray(explanation.provenance.completeness_gap)
    np.testing.assert_allclose(gap, 0, atol=2e-3 * max(1.0, np.abs(explanation.scores).sum()))


# DeepLIFT's rescale rule
