"""The rule `frozen`: attention, norm denominators and activation slopes are constants of the gradient, values stay."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812  the name torch's own documentation uses
from torch import Tensor, nn
from transformers.activations import ACT2FN

import quick
import tiny
from whylight.models.frozen import frozen

ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], float]] = {
    "gelu": (F.gelu, 0.5),
    "gelu of tanh": (lambda x: F.gelu(x, approximate="tanh"), 0.5),
    "gelu by name": (lambda x: F.gelu(input=x), 0.5),
    "silu": (F.silu, 0.5),
    "tanh": (torch.tanh, 1.0),
    "method tanh": (lambda x: x.tanh(), 1.0),
    "relu": (torch.relu, 0.0),
    "module gelu": (nn.GELU(), 0.5),
    "gelu_new": (ACT2FN["gelu_new"], 0.5),
    "gelu_fast": (ACT2FN["gelu_fast"], 0.5),
    "quick_gelu": (ACT2FN["quick_gelu"], 0.5),
    "mish": (ACT2FN["mish"], 0.6),
    "relu2": (ACT2FN["relu2"], 0.0),
    "module inside": (lambda x: nn.Tanh()(x), 1.0),  # noqa: PLW0108  made while the rule is on
}
"""Activations with their slope at 0."""
each_activation = pytest.mark.parametrize("name", ACTIVATIONS)


def draw(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_(requires_grad=True)


def held(function: Callable[..., Tensor], *inputs: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return what a function gives inside the block, and a random mixture's gradients by its inputs."""
    with frozen():
        out = function(*inputs)
    gradients = torch.autograd.grad((out * draw(*out.shape, seed=99).detach()).sum(), inputs, materialize_grads=True)
    return out.detach(), gradients


@each_activation
def test_an_activation_is_the_line_through_the_origin(name: str) -> None:
    activation, at_zero = ACTIVATIONS[name]
    x = torch.cat([draw(20).detach(), torch.zeros(2)]).requires_grad_(requires_grad=True)
    with frozen():
        out = activation(x)
    torch.testing.assert_close(out, activation(x), rtol=1e-12, atol=1e-12)
    (slope,) = torch.autograd.grad(out.sum(), x)
    torch.testing.assert_close(slope[:-2], (activation(x) / x)[:-2].detach())
    torch.testing.assert_close(slope[-2:], torch.full((2,), at_zero, dtype=torch.float64))


def test_an_activation_that_is_not_zero_at_zero_is_left_alone() -> None:
    x = draw(9)
    (plain,) = torch.autograd.grad(torch.sigmoid(x).sum(), x)
    with frozen():
        out = torch.sigmoid(x), nn.Sigmoid()(x)
    for one in out:
        assert bool((torch.autograd.grad(one.sum(), x)[0] == plain).all())


def test_a_layer_norm_is_centring_and_a_constant_scale() -> None:
    x, gamma, beta = draw(3, 5), draw(5, seed=1), draw(5, seed=2)
    value, (by_x, by_gamma, by_beta) = held(lambda x, g, b: F.layer_norm(x, (5,), g, b, 1e-3), x, gamma, beta)
    torch.testing.assert_close(value, F.layer_norm(x, (5,), gamma, beta, 1e-3).detach())
    upstream = draw(3, 5, seed=99).detach()
    deviation = (x.detach().var(-1, unbiased=False, keepdim=True) + 1e-3).sqrt()
    scaled = upstream * gamma.detach() / deviation
    torch.testing.assert_close(by_x, scaled - scaled.mean(-1, keepdim=True))
    torch.testing.assert_close(by_beta, upstream.sum(0))
    torch.testing.assert_close((x * by_x).sum() + (beta * by_beta).sum(), (value * upstream).sum())
    torch.testing.assert_close((gamma * by_gamma).sum() + (beta * by_beta).sum(), (value * upstream).sum())


@pytest.mark.parametrize("eps", [None, 1e-3])
def test_a_root_mean_square_norm_is_a_constant_scale(eps: float | None) -> None:
    def written_out(x: Tensor, gamma: Tensor) -> Tensor:
        tiny_ = torch.finfo(x.dtype).eps if eps is None else eps
        return gamma * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + tiny_)

    x, gamma = draw(3, 5), draw(5, seed=1)
    plain = F.rms_norm(x, (5,), gamma, eps).detach()
    for function in (lambda x, g: F.rms_norm(x, (5,), g, eps), written_out):
        value, (by_x, _) = held(function, x, gamma)
        torch.testing.assert_close(value, plain)
        torch.testing.assert_close(by_x * x.detach(), draw(3, 5, seed=99).detach() * plain)


MASKS: dict[str, dict[str, Any]] = {
    "none": {},
    "causal": {"is_causal": True},
    "scaled": {"scale": 0.3},
    "two may be seen": {"attn_mask": (torch.arange(4) < 2).expand(3, 4)},
    "one sees nothing": {"attn_mask": torch.tensor([[True] * 4] * 2 + [[False] * 4])},
    "added": {"attn_mask": torch.linspace(-2, 2, 12, dtype=torch.float64).reshape(3, 4)},
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("grouped", [False, True])
def test_fused_attention_is_a_constant_mixture_of_values(mask: str, *, grouped: bool) -> None:
    options = {**MASKS[mask], "enable_gqa": grouped}
    heads = 1 if grouped else 2
    query, key, value = draw(1, 2, 3, 6), draw(1, heads, 4, 6, seed=1), draw(1, heads, 4, 6, seed=2)
    out, (by_query, by_key, by_value) = held(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **options), query, key, value
    )
    plain = F.scaled_dot_product_attention(query, key, value, **options).nan_to_num()
    torch.testing.assert_close(out, plain.detach())
    assert not by_query.any()
    assert not by_key.any()
    upstream = draw(*out.shape, seed=99).detach()
    (expected,) = torch.autograd.grad((plain * upstream).sum(), value)  # attention is linear in values as it is
    torch.testing.assert_close(by_value, expected)


@pytest.mark.parametrize("activation", [F.silu, nn.GELU(), ACT2FN["gelu_new"]])
def test_a_gate_is_held_and_its_partner_is_not(activation: Any) -> None:
    gate, up = draw(7), draw(7, seed=1)
    for product in (lambda a, b: activation(a) * b, lambda a, b: torch.mul(b, activation(a))):
        value, (by_gate, by_up) = held(product, gate, up)
        torch.testing.assert_close(value, (activation(gate) * up).detach())
        assert not by_gate.any()
        torch.testing.assert_close(by_up, activation(gate).detach() * draw(7, seed=99).detach())


def test_what_is_not_a_gate_may_be_multiplied() -> None:
    x = draw(7)
    weights = draw(7, seed=1).detach()
    for function in (lambda x: torch.mul(weights, other=torch.tanh(x)), lambda x: weights * (torch.tanh(x) + 1)):
        _, (found,) = held(function, x)
        torch.testing.assert_close(found, weights * (torch.tanh(x) / x).detach() * draw(7, seed=99).detach())


def squared(x: Tensor) -> Tensor:
    once = torch.tanh(x)
    return once * once


def test_an_activation_times_itself_is_still_linear_in_one_of_them() -> None:
    x = draw(7)
    value, (found,) = held(squared, x)
    torch.testing.assert_close(found * x.detach(), value * draw(7, seed=99).detach())


def both_kinds(x: Tensor) -> Tensor:
    """An activation as a function, one as a module, and a softmax."""
    return torch.tanh(x) + ACT2FN["gelu_new"](x) + x.softmax(-1)


def test_the_rule_ends_with_its_block_also_after_an_error() -> None:
    x = draw(5)
    (plain,) = torch.autograd.grad(both_kinds(x)[0], x)
    before = quick.snapshot(tiny.model("bert"))
    with pytest.raises(ZeroDivisionError), frozen():
        raise ZeroDivisionError
    assert quick.snapshot(tiny.model("bert"))["global hooks"] == before["global hooks"]
    assert quick.snapshot(tiny.model("bert"))["modes"] == before["modes"]
    assert bool((torch.autograd.grad(both_kinds(x)[0], x)[0] == plain).all())


def test_a_block_in_a_block_changes_nothing() -> None:
    x = draw(5)
    with frozen():
        once = both_kinds(x)
        with frozen():
            twice = both_kinds(x)
        again = both_kinds(x)
    (expected,) = torch.autograd.grad(once.sum(), x)
    for other in (twice, again):
        torch.testing.assert_close(torch.autograd.grad(other.sum(), x)[0], expected)


def test_other_threads_keep_their_gradients() -> None:
    x, found = draw(5), list[Tensor]()
    (plain,) = torch.autograd.grad(both_kinds(x)[0], x)
    work = threading.Thread(target=lambda: found.append(torch.autograd.grad(both_kinds(x)[0], x)[0]))
    with frozen():
        work.start()
        work.join()
        inside = both_kinds(x)[0]
    assert bool((found[0] == plain).all())
    assert not torch.allclose(torch.autograd.grad(inside, x)[0], plain)


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_the_logits_of_a_model_stay_and_their_gradients_change(architecture: str) -> None:
    clf = tiny.load(tiny.model(architecture).double(), tiny.tokenizer(tiny.style_of(architecture)))
    view = clf.gradient_view(quick.encode(clf, quick.TEXT), quick.request(clf))
    with frozen():
        inside = view.score(view.inputs)
    torch.testing.assert_close(torch.as_tensor(inside), torch.as_tensor(view.score(view.inputs)), rtol=1e-9, atol=1e-9)
    plain, linear = (view.gradients(view.inputs[None], rule=rule) for rule in ("exact", "frozen"))
    assert float((plain - linear).abs().max()) > 0.01 * float(plain.abs().max())


@pytest.mark.parametrize("architecture", ["bert", "roberta", "distilbert", "electra", "albert", "modernbert", "llama"])
def test_fused_and_written_out_attention_are_held_alike(architecture: str) -> None:
    found = []
    for kind in ("sdpa", "eager"):
        model = tiny.model(architecture).double()
        model.set_attn_implementation(kind)
        clf = tiny.load(model, tiny.tokenizer(tiny.style_of(architecture)))
        view = clf.gradient_view(quick.encode(clf, quick.TEXT), quick.request(clf))
        found.append(view.gradients(view.inputs[None], rule="frozen"))
    torch.testing.assert_close(found[0], found[1], rtol=1e-6, atol=1e-6 * float(found[0].abs().max()))
