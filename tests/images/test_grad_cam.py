"""Grad-CAM on a network whose maps and weights are known, and on architectures of Hugging Face."""

import copy

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torchcam.methods import GradCAM

import whylight as wl
from images.pictures import SIDE, classifier, normalise, picture
from images.test_image_peers import classifier as of_hugging_face
from whylight.core.errors import IncompatibleError
from whylight.models.activations import last_maps


class Pooled(nn.Module):
    """Maps, their means, and a linear head: d logit / d A_k is w_k / places, everywhere."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.maps = nn.Sequential(nn.Conv2d(3, 4, 7, stride=7), nn.ReLU(inplace=True))
        self.head = nn.Linear(4, 2)

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        logits: Tensor = self.head(self.maps(values).mean(dim=(2, 3)))
        return logits


def test_it_is_what_the_formula_says() -> None:
    model, shown = Pooled(), picture()
    found = wl.explain(classifier(model), shown, method="grad_cam", target="all", progress=False)
    with torch.no_grad():
        maps = model.maps(normalise(shown.array)[None])[0]
    for label in range(2):
        weights = model.head.weight[label].detach() / 16
        field = (weights[:, None, None] * maps).sum(0).clamp(min=0)
        large = interpolate(field[None, None].double(), size=(SIDE, SIDE), mode="bilinear")[0, 0]
        np.testing.assert_allclose(found.scores[label], large.flatten(), rtol=1e-5, atol=1e-9)
    assert "maps of the layer 'maps" in found.provenance.notes[0]
    assert (found.provenance.forward_passes, found.provenance.backward_passes) == (1, 2)
    patches = wl.explain(classifier(model), shown, method="grad_cam", target="cat", unit="patch", progress=False)
    summed = found.scores[0].reshape(14, 2, 14, 2).sum(axis=(1, 3)).ravel()
    np.testing.assert_allclose(patches.scores[0], summed)


@pytest.mark.parametrize("architecture", ["resnet", "vit"])
def test_a_late_layer_is_found_whose_places_matter(architecture: str) -> None:
    clf = of_hugging_face(architecture)
    found = wl.explain(clf, picture(40, 60), method="grad_cam", target="all", progress=False)
    assert found.scores.max() > 0
    hooks = [len(module._forward_hooks) for module in clf.model.modules()]
    assert not any(hooks)
    if architecture == "vit":  # behind the last attention a class token alone is read
        assert "layer.1" in found.provenance.notes[0] or "layers.1" in found.provenance.notes[0]


def test_a_model_without_maps_is_refused() -> None:
    flat = nn.Sequential(nn.Flatten(), nn.Linear(3 * SIDE * SIDE, 2))
    values = torch.zeros(1, 3, SIDE, SIDE, requires_grad=True)
    with pytest.raises(IncompatibleError, match="no layer of this model gives out maps"):
        last_maps(flat, lambda: flat(values)[0], picture=(SIDE, SIDE))


@pytest.mark.parametrize("architecture", ["resnet", "plain"])
def test_it_agrees_with_torchcam(architecture: str) -> None:
    clf = of_hugging_face("resnet") if architecture == "resnet" else classifier(Pooled())
    found = wl.explain(clf, picture(SIDE, SIDE), method="grad_cam", target=1, progress=False)
    layer = found.provenance.notes[0].split("'")[1]
    colours = torch.as_tensor(found.example.array / 255, dtype=torch.float32)  # type: ignore[attr-defined]
    values = clf.preparation.inputs(colours[None]).requires_grad_()
    model = copy.deepcopy(clf.model).eval()
    for module in model.modules():
        module.inplace = False  # theirs needs what a layer gave out before it is changed in place
    with GradCAM(model, target_layer=layer, input_shape=(3, SIDE, SIDE)) as theirs:
        output = model(values)
        (field,) = theirs(1, getattr(output, "logits", output), normalized=False)
    large = interpolate(field.double()[None], size=(SIDE, SIDE), mode="bilinear")[0, 0].flatten().numpy()
    assert large.max() > 0
    assert np.abs(found.scores[0] - large).max() <= 1e-4 * large.max()


class ChannelsLast(Pooled):
    """The same maps, handed on with channels last, as Swin and others do."""

    def __init__(self) -> None:
        super().__init__()
        self.turned = nn.Identity()

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        logits: Tensor = self.head(self.turned(self.maps(values).movedim(1, 3)).mean(dim=(1, 2)))
        return logits


def test_maps_with_channels_last_are_turned() -> None:
    shown = picture(SIDE, 2 * SIDE)
    first, other = (
        wl.explain(classifier(model), shown, method="grad_cam", target=0, progress=False)
        for model in (Pooled(), ChannelsLast())
    )
    assert other.provenance.notes == ("maps of the layer 'turned'",)
    np.testing.assert_allclose(first.scores, other.scores, rtol=1e-5, atol=1e-9)


class Averaged(Pooled):
    """Nine maps, whose means are a layer of their own, `[1, 9, 1]`: no 3 x 3 tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.maps, self.pool = nn.Conv2d(3, 9, 7, stride=7), nn.AdaptiveAvgPool1d(1)
        self.head = nn.Linear(9, 2)

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        logits: Tensor = self.head(self.pool(self.maps(values).flatten(2)).flatten(1))
        return logits


def test_means_of_maps_are_no_tokens() -> None:
    found = wl.explain(classifier(Averaged()), picture(), method="grad_cam", target=0, progress=False)
    assert found.provenance.notes == ("maps of the layer 'maps'",)


class Tokens(nn.Module):
    """Patches of 7 pixels as tokens behind some special ones; attention of the class token is a layer of its own."""

    def __init__(self, *, special: int) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.cut = nn.Conv2d(3, 4, 7, stride=7)
        self.special = nn.Parameter(torch.randn(1, special, 4))
        self.late = nn.Linear(4, 4)
        self.attention = nn.Softmax(dim=-1)
        self.head = nn.Linear(4, 2)

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        tokens = torch.cat([self.special.expand(len(values), -1, -1), self.cut(values).flatten(2).movedim(2, 1)], dim=1)
        late = self.late(tokens)
        # one head, `[1, 1, tokens, tokens]`
        logits: Tensor = self.head((self.attention(late @ late.mT[:, None]) @ late[:, None])[:, 0, 0])
        return logits


@pytest.mark.parametrize("special", [1, 2, 5])
@pytest.mark.parametrize("size", [(4, 4), (4, 9)])
def test_tokens_of_any_picture_and_any_number_of_special_ones_are_its_patches(
    special: int, size: tuple[int, int]
) -> None:
    model, shown = Tokens(special=special), picture(7 * size[0], 7 * size[1])
    found = wl.explain(classifier(model), shown, method="grad_cam", target=0, progress=False)
    assert found.provenance.notes == ("maps of the layer 'late'",)
    with torch.no_grad():
        tokens = torch.cat([model.special, model.cut(normalise(shown.array)[None]).flatten(2).movedim(2, 1)], dim=1)
    late = model.late(tokens).detach().requires_grad_()
    model.head((model.attention(late @ late.mT[:, None]) @ late[:, None])[:, 0, 0])[0, 0].backward()
    assert late.grad is not None
    weights = late.grad[0, special:].mean(0)
    field = (late.detach()[0, special:] @ weights).reshape(size).clamp(min=0)
    large = interpolate(field[None, None].double(), size=(shown.height, shown.width), mode="bilinear")[0, 0]
    np.testing.assert_allclose(found.scores[0], large.flatten(), rtol=1e-4, atol=1e-9)


class Heads(nn.Module):
    """Tokens whose attention hands on what it computes, in any form, through a layer of its own."""

    def __init__(self, form: str, *, size: int, heads: int) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.form, self.heads, dims = form, heads, heads * size
        self.cut, self.first = nn.Conv2d(3, dims, 7, stride=7), nn.Parameter(torch.randn(1, 1, dims))
        self.late, self.inside = nn.Linear(dims, 3 * dims), nn.Sequential(nn.Identity())
        self.out, self.head = nn.Linear(dims, dims), nn.Linear(dims, 2)

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        tokens = torch.cat([self.first.expand(len(values), -1, -1), self.cut(values).flatten(2).mT], dim=1)
        query, key, value = self.late(tokens).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if self.form == "keys":
            key = self.inside(key)
        elif self.form == "keys by token":
            key = self.inside(key.transpose(1, 2)).transpose(1, 2)
        between = query @ key.mT
        weight = self.inside(between.softmax(-1)) if self.form == "attention" else between.softmax(-1)
        logits: Tensor = self.head(self.out((weight @ value).transpose(1, 2).flatten(2))[:, 0])
        return logits


@pytest.mark.parametrize("form", ["keys", "keys by token", "attention"])
@pytest.mark.parametrize(("size", "heads"), [(8, 2), (16, 2), (16, 16)])
@pytest.mark.parametrize("wide", [1, 2])
def test_what_lies_inside_attention_is_no_map(form: str, size: int, heads: int, wide: int) -> None:
    """With 17 tokens and 16 numbers a head, keys have the shape of a picture that is nearly square."""
    model, shown = Heads(form, size=size, heads=heads), picture(SIDE, wide * SIDE)
    found = wl.explain(classifier(model), shown, method="grad_cam", target=0, progress=False)
    assert found.provenance.notes == ("maps of the layer 'late'",)


class Cut(nn.Module):
    """Tokens from patches that fill the picture up, or leave out what is over; of what came before, no layer says."""

    def __init__(self, side: int, *, up: bool, special: int) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.side, self.up, self.special = side, up, special
        self.late, self.head = nn.Linear(3, 5), nn.Linear(5, 2)

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        maps = nn.functional.avg_pool2d(values, self.side, ceil_mode=self.up)
        tokens = torch.cat([torch.ones(len(values), self.special, 3), maps.flatten(2).mT], dim=1)
        logits: Tensor = self.head(self.late(tokens).tanh().mean(dim=1))
        return logits


@pytest.mark.parametrize("size", [(70, 70), (100, 100), (50, 50), (50, 70)])
@pytest.mark.parametrize(("up", "special"), [(True, 0), (True, 1), (False, 0), (False, 1)])
@pytest.mark.parametrize("side", [8, 16])
def test_tokens_are_the_patches_of_a_picture_that_these_do_not_divide(
    size: tuple[int, int], side: int, special: int, *, up: bool
) -> None:
    model, (height, width) = Cut(side, up=up, special=special), size
    values = normalise(picture(height, width).array)[None].requires_grad_()
    layer, maps, _ = last_maps(model, lambda: model(values)[0], picture=size)
    grid = tuple(-(-one // side) if up else one // side for one in size)
    assert (layer, tuple(maps.shape[1:])) == ("late", grid)
    before = nn.functional.avg_pool2d(values.detach(), side, ceil_mode=up)[0]
    torch.testing.assert_close(
        maps, torch.einsum("dc,crk->drk", model.late.weight, before) + model.late.bias[:, None, None]
    )


class Flat(nn.Module):
    """Maps whose places are put in one row by a layer, before their means are taken."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.maps, self.row = nn.Conv2d(3, channels, 4, stride=4), nn.Flatten(2)
        self.pool, self.head = nn.AdaptiveAvgPool1d(1), nn.Linear(channels, 2)

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        logits: Tensor = self.head(self.pool(self.row(self.maps(values))).flatten(1))
        return logits


@pytest.mark.parametrize("channels", [9, 16, 49, 50])
def test_channels_of_flattened_maps_are_no_tokens(channels: int) -> None:
    model = Flat(channels)
    found = wl.explain(classifier(model), picture(), method="grad_cam", target=0, progress=False)
    assert found.provenance.notes == ("maps of the layer 'row'",)
    with torch.no_grad():
        field = torch.einsum("chw,c->hw", model.maps(normalise(picture().array)[None])[0], model.head.weight[0] / 49)
    large = interpolate(field.clamp(min=0)[None, None].double(), size=(SIDE, SIDE), mode="bilinear")[0, 0]
    np.testing.assert_allclose(found.scores[0], large.flatten(), rtol=1e-4, atol=1e-9)


class Unfolded(nn.Module):
    """Patches as tokens without a convolution, of as many dimensions as a grid has places."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.cut, self.first = nn.Linear(147, 49), nn.Parameter(torch.randn(1, 1, 49))
        self.wide, self.late, self.head = nn.Linear(49, 80), nn.Linear(80, 49), nn.Linear(49, 2)

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        tokens = self.cut(nn.functional.unfold(values, 7, stride=7).mT)
        late = self.late(self.wide(torch.cat([self.first.expand(len(values), -1, -1), tokens], dim=1)).tanh())
        logits: Tensor = self.head(late.tanh().mean(dim=1))
        return logits


def test_tokens_are_known_by_their_number_which_stays_while_dimensions_change() -> None:
    model, values = Unfolded(), normalise(picture().array)[None].requires_grad_()
    layer, maps, _ = last_maps(model, lambda: model(values)[0], picture=(SIDE, SIDE))
    assert (layer, tuple(maps.shape)) == ("late", (49, 4, 4))
