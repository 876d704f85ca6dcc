"""DeepLIFT's rescale rule: complete, and the slope of the line from reference to input."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  the name torch's own documentation uses
from test_gradients import DIMS, POSITIONS, draw, make_view
from torch import Tensor, nn
from transformers.activations import ACT2FN

import quick
import tiny
from whylight.methods.deeplift import deeplift
from whylight.models import rules

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "tanh": torch.tanh,
    "relu": torch.relu,
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "method tanh": lambda x: x.tanh(),
    "method relu": lambda x: x.relu(),
    "method sigmoid": lambda x: x.sigmoid(),
    "module gelu": nn.GELU(),
    "gelu_new": ACT2FN["gelu_new"],
    "quick_gelu": ACT2FN["quick_gelu"],
    "gelu_fast": ACT2FN["gelu_fast"],
    "relu2": ACT2FN["relu2"],
    "functional sigmoid": F.sigmoid,
    "module inside": lambda x: nn.ReLU()(x),  # noqa: PLW0108  made while the rule is on
}


each_activation = pytest.mark.parametrize("name", ACTIVATIONS)


def perceptron(name: str) -> Callable[[Tensor], Tensor]:
    """Two hidden layers, no attention, no normalisation."""
    activation = ACTIVATIONS[name]
    weights = (draw(7, POSITIONS * DIMS, seed=9), draw(4, 7, seed=10), draw(2, 4, seed=11))

    def score(points: Tensor) -> Tensor:
        hidden = activation(points.flatten(1) @ weights[0].T + 0.3)
        return activation(hidden @ weights[1].T - 0.1) @ weights[2].T

    return score


@each_activation
@pytest.mark.parametrize("baseline", ["zero", "mask"])
def test_the_rescale_rule_is_complete_on_a_perceptron(name: str, baseline: Any) -> None:
    view = make_view(perceptron(name))
    total = view.score(view.inputs) - view.score(view.baseline(baseline))
    np.testing.assert_allclose(deeplift(view, baseline=baseline).values.sum(1), total, atol=1e-9)


@each_activation
def test_the_rescale_rule_changes_no_value(name: str) -> None:
    score = perceptron(name)
    points = draw(2, POSITIONS, DIMS, seed=12)
    expected = score(points)
    with rules.rescale():
        inside = score(points)
    torch.testing.assert_close(inside, expected, rtol=0, atol=1e-15)
    torch.testing.assert_close(score(points), expected, rtol=0, atol=0)


@each_activation
def test_where_input_and_reference_agree_the_rule_is_the_derivative(name: str) -> None:
    activation = ACTIVATIONS[name]
    x = draw(1, 9, seed=13)
    plain = x.clone().requires_grad_(requires_grad=True)
    (expected,) = torch.autograd.grad(activation(plain).sum(), plain)
    both = torch.cat([x, x]).requires_grad_(requires_grad=True)
    with rules.rescale():
        out = activation(both)
    (found,) = torch.autograd.grad(out.sum(), both)
    torch.testing.assert_close(found[0], expected[0], rtol=1e-9, atol=1e-12)


@each_activation
def test_the_rule_is_the_slope_of_the_line_from_reference_to_input(name: str) -> None:
    activation = ACTIVATIONS[name]
    pair = draw(2, 9, seed=14).requires_grad_(requires_grad=True)
    with rules.rescale():
        out = activation(pair)
    (found,) = torch.autograd.grad(out.sum(), pair)
    x, r = pair.detach()
    torch.testing.assert_close(found[0], (activation(x) - activation(r)) / (x - r), rtol=1e-9, atol=1e-12)


def test_the_rule_ends_with_its_block_also_after_an_error() -> None:
    pair = draw(2, 3, seed=15).requires_grad_(requires_grad=True)
    (plain,) = torch.autograd.grad(torch.tanh(pair).sum(), pair)
    with pytest.raises(ZeroDivisionError), rules.rescale():
        raise ZeroDivisionError
    (after,) = torch.autograd.grad(torch.tanh(pair).sum(), pair)
    assert bool((after == plain).all())
    assert not torch.nn.modules.module._global_forward_hooks


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_deeplift_leaves_the_logits_of_a_model_alone(architecture: str) -> None:
    clf = quick.classifier(architecture)
    view = clf.gradient_view(quick.encode(clf, quick.TEXT), quick.request(clf))
    points = torch.stack([view.inputs, view.baseline()])
    with torch.no_grad():
        plain = view._score(points)
    with rules.rescale():
        inside = view._score(points.requires_grad_(requires_grad=True))
    torch.testing.assert_close(inside.detach(), plain, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_deeplift_differs_from_the_plain_gradient_because_the_rule_fires(architecture: str) -> None:
    clf = quick.classifier(architecture)
    view = clf.gradient_view(quick.encode(clf, quick.TEXT), quick.request(clf))
    plain = view.to_features(((view.inputs - view.baseline()) * view.gradient()).sum(-1))
    assert np.abs(deeplift(view).values - plain).max() > 1e-3 * np.abs(plain).max()
