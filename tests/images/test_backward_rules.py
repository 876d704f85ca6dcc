"""Guided and excitation backpropagation, against Captum and against the formulas, written once more in float64."""

import copy

import numpy as np
import pytest
import torch
from captum.attr import GuidedBackprop
from torch import Tensor, nn
from torch.nn.functional import hardtanh, relu

import whylight as wl
from images.pictures import SIDE, classifier, normalise, picture
from images.test_image_peers import classifier as of_hugging_face
from whylight.core.errors import IncompatibleError
from whylight.core.image import Image

MEAN, DEVIATION = torch.tensor([0.5, 0.25, 0.75]), torch.tensor([0.5, 0.25, 0.25])


class Branched(nn.Module):
    """Convolutions, batch norms of either sign, both rectifiers, in place and not, a branch, pools and a head."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.first = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.second = nn.Conv2d(4, 4, 3, padding=1, groups=2)
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(4, 2)
        self.act, self.six = nn.ReLU(inplace=True), nn.ReLU6()
        with torch.no_grad():
            self.norm.weight.copy_(torch.tensor([1.0, -0.7, 0.5, 2.0]))
            self.norm.running_mean.copy_(torch.tensor([0.2, -0.1, 0.3, 0.0]))
            self.norm.running_var.copy_(torch.tensor([0.5, 1.0, 2.0, 0.1]))

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        low = self.act(self.norm(self.first(values)))
        both = self.second(low)
        both += low
        logits: Tensor = self.head(self.pool(self.six(both)).mean(dim=(2, 3)))
        return logits


def shown() -> tuple[Image, Tensor]:
    """A picture, and its colours in float64."""
    one = picture(seed=3)
    return one, torch.as_tensor(one.array / 255, dtype=torch.float64)


def test_guided_gradients_agree_with_captum_on_a_residual_network() -> None:
    clf = of_hugging_face("resnet")
    found = wl.explain(clf, picture(40, 60), method="guided_backprop", target=1, pooling="sum", progress=False)
    colours = torch.as_tensor(found.example.array / 255, dtype=torch.float32).permute(2, 0, 1)[None]  # type: ignore[attr-defined]

    class Coloured(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = copy.deepcopy(clf.model)

        def forward(self, values: Tensor) -> Tensor:
            logits: Tensor = self.inner((values - MEAN[:, None, None]) / DEVIATION[:, None, None]).logits
            return logits

    theirs = GuidedBackprop(Coloured().eval()).attribute(colours.requires_grad_(), target=1)
    expected = theirs[0].sum(0).flatten().detach().double().numpy()
    assert np.abs(expected).max() > 0
    assert np.abs(found.scores[0] - expected).max() <= 1e-4 * np.abs(expected).max()


class _Gated(torch.autograd.Function):
    """A rectifier up to a bend, and the gate of the paper."""

    @staticmethod
    def forward(ctx: object, x: Tensor, most: float) -> Tensor:
        ctx.x, ctx.most = x, most  # type: ignore[attr-defined]
        return x.clamp(0, most)

    @staticmethod
    def backward(ctx: object, *slopes: Tensor) -> tuple[Tensor, None]:
        x, most = ctx.x, ctx.most  # type: ignore[attr-defined]
        return slopes[0].clamp(min=0) * ((x > 0) & (x < most)), None


def test_guided_gradients_gate_both_rectifiers_by_the_formula() -> None:
    model, (one, colours) = Branched().eval(), shown()
    own = copy.deepcopy(model).double()
    leaf = colours.clone().requires_grad_()
    values = ((leaf - MEAN) / DEVIATION).permute(2, 0, 1)[None]
    low = _Gated.apply(own.norm(own.first(values)), torch.inf)
    both = _Gated.apply(own.second(low) + low, 6.0)
    logits = own.head(own.pool(both).mean(dim=(2, 3)))
    (expected,) = torch.autograd.grad(logits[0, 1], leaf)
    found = wl.explain(classifier(model), one, method="guided_backprop", target="dog", progress=False)
    np.testing.assert_allclose(found.scores[0], expected.norm(dim=-1).flatten(), rtol=1e-3, atol=1e-7)
    assert not found.provenance.signed


def matrix(layer: nn.Module, like: Tensor) -> Tensor:
    """Return the matrix of a layer that is linear but for a constant, `[outputs, inputs]`."""
    flat = torch.eye(like.numel(), dtype=torch.float64).reshape(-1, *like.shape)
    with torch.no_grad():
        return (layer(flat) - layer(torch.zeros_like(flat[:1]))).flatten(1).T


def walked(weights: Tensor, units: Tensor, winning: Tensor) -> Tensor:
    """P(a_j) = sum over i of  a_j w_ij / (sum over k of a_k w_ik)  P(a_i),  with positive w alone."""
    found = torch.zeros_like(units)
    for row, share in zip(weights.clamp(min=0), winning, strict=True):
        excited = row * units
        if share > 0 and excited.sum() > 0:
            found += share * excited / excited.sum()
    return found


def test_walks_end_where_the_formula_says() -> None:
    model, (one, colours) = Branched().eval(), shown()
    own = copy.deepcopy(model).double()
    with torch.no_grad():
        values = ((colours - MEAN) / DEVIATION).permute(2, 0, 1)[None]
        normed = own.norm(own.first(values))
        low = relu(normed)
        branch = own.second(low)
        rectified = hardtanh(branch + low, 0, 6)
        pooled, taken = nn.functional.max_pool2d(rectified, 2, return_indices=True)
    for label in range(2):
        means = pooled.mean(dim=(2, 3))[0]
        at_means = walked(own.head.weight.detach()[label][None], means, torch.ones(1))
        at_pools = torch.zeros_like(pooled)
        for channel in range(4):
            if means[channel] > 0:
                at_pools[0, channel] = at_means[channel] * pooled[0, channel] / pooled[0, channel].sum()
        at_sum = nn.functional.max_unpool2d(at_pools, taken, 2, output_size=rectified.shape[2:])
        positive = torch.stack([branch.clamp(min=0), low])
        shares = torch.where(positive.sum(0) > 0, positive / positive.sum(0).clamp(min=1e-300), 0.0) * at_sum
        at_low = shares[1].flatten() + walked(matrix(own.second, low[0]), low.flatten(), shares[0].flatten())
        # the batch norm and the convolution are one layer, which reads colours
        scale = (own.norm.weight / (own.norm.running_var + own.norm.eps).sqrt()).detach()
        joint = copy.deepcopy(own.first)
        with torch.no_grad():
            joint.weight.mul_(scale[:, None, None, None] / DEVIATION[None, :, None, None])
        expected = walked(matrix(joint, values[0]), colours.permute(2, 0, 1).flatten(), at_low)
        found = wl.explain(classifier(model), one, method="excitation_backprop", target=label, progress=False)
        by_pixel = expected.reshape(3, -1).sum(0)
        assert 0.5 < by_pixel.sum() <= 1 + 1e-9
        np.testing.assert_allclose(found.scores[0], by_pixel, rtol=1e-3, atol=1e-7)


def test_walks_through_a_residual_network_keep_what_they_start_with() -> None:
    clf = of_hugging_face("resnet")
    found = wl.explain(clf, picture(40, 60), method="excitation_backprop", target="all", progress=False)
    assert (found.scores >= 0).all()
    assert (found.scores.sum(axis=1) <= 1 + 1e-5).all()
    assert (found.scores.sum(axis=1) > 0.5).all()


def test_what_has_no_rectifier_or_a_gate_is_refused_and_so_are_texts() -> None:
    vit, text = of_hugging_face("vit"), wl.load()
    with pytest.raises(IncompatibleError, match=r"gates rectifiers .* and this model has none"):
        wl.explain(vit, picture(), method="guided_backprop", progress=False)
    with pytest.raises(IncompatibleError, match="this model also calls"):
        wl.explain(vit, picture(), method="excitation_backprop", progress=False)
    for method in ("guided_backprop", "excitation_backprop"):
        with pytest.raises(IncompatibleError, match="cannot be propagated by the rule"):
            wl.explain(text, "a good film", method=method, progress=False)


class Squeezed(nn.Module):
    """Maps that are multiplied with a gate of their own."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.maps, self.head = nn.Conv2d(3, 4, 3), nn.Linear(4, 2)

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        maps = self.maps(values).relu()
        logits: Tensor = self.head((maps * maps).mean(dim=(2, 3)))
        return logits


def test_a_product_of_two_that_depend_on_the_picture_is_refused() -> None:
    with pytest.raises(IncompatibleError, match="a product of two things"):
        wl.explain(classifier(Squeezed()), picture(SIDE, SIDE), method="excitation_backprop", progress=False)
    assert normalise(picture().array).shape == (3, SIDE, SIDE)
