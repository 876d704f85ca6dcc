"""Attention of a vision transformer: each method once more, from what the model hands out."""

import copy
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image as Pillow
from torch import Tensor
from torch.nn.functional import interpolate
from transformers import (
    CLIPConfig,
    CLIPForImageClassification,
    PreTrainedModel,
    SiglipConfig,
    SiglipForImageClassification,
)

import whylight as wl
from images.pictures import picture, prepare
from images.test_image_peers import classifier
from whylight.core.errors import IncompatibleError
from whylight.core.image import Image
from whylight.models.unchanged import eager_attention

MEAN, DEVIATION = torch.tensor([0.5, 0.25, 0.75]), torch.tensor([0.5, 0.25, 0.25])


def ran(seen: Image, *, share: float = 1.0, label: int = 1) -> tuple[list[Tensor], list[Tensor]]:
    """Return attention `[heads, tokens, tokens]` and the gradient by it, of every layer."""
    model = classifier("vit").model
    colours = MEAN + share * (torch.as_tensor(seen.array / 255, dtype=torch.float32) - MEAN)
    values = ((colours - MEAN) / DEVIATION).permute(2, 0, 1)[None].requires_grad_()
    with torch.enable_grad(), eager_attention(model):
        output = model(values, output_attentions=True)
        slopes = torch.autograd.grad(output.logits[0, label], output.attentions)
    return [one[0].detach() for one in output.attentions], [one[0] for one in slopes]


def large(row: Tensor) -> np.ndarray:
    """Enlarge what the class token looks at, without itself."""
    field = row[1:].reshape(1, 1, 4, 4).double()
    made: np.ndarray = interpolate(field, size=(28, 28), mode="bilinear").flatten().numpy()
    return made


def explained(method: str, **options: object) -> wl.Explanation:
    found = wl.explain(classifier("vit"), picture(40, 60), method=method, target=1, progress=False, **options)
    assert isinstance(found, wl.Explanation)
    return found


def seen() -> Image:
    one = explained("attention").example
    assert isinstance(one, Image)
    return one


def test_attention_is_the_row_of_the_class_token() -> None:
    attention, _ = ran(seen())
    np.testing.assert_allclose(explained("attention").scores[0], large(attention[-1].mean(0)[0]), rtol=1e-4)


def test_attention_times_gradient() -> None:
    attention, slopes = ran(seen())
    row = (attention[-1] * slopes[-1].abs()).mean(0)[0]
    np.testing.assert_allclose(explained("attgrad").scores[0], large(row), rtol=1e-3, atol=1e-9)


def test_rollout_is_the_product_of_all_layers() -> None:
    product = torch.eye(17)
    for layer in ran(seen())[0]:
        mixed = layer.mean(0) + torch.eye(17)
        product = (mixed / mixed.sum(-1, keepdim=True)) @ product
    np.testing.assert_allclose(explained("attention_rollout").scores[0], large(product[0]), rtol=1e-4)


def test_attribution_weights_attention_by_what_the_label_gains() -> None:
    product = torch.eye(17)
    for layer, slope in zip(*ran(seen()), strict=True):
        mixed = (layer * slope).clamp(min=0).mean(0) + torch.eye(17)
        product = (mixed / mixed.sum(-1, keepdim=True)) @ product
    np.testing.assert_allclose(explained("attention_attribution").scores[0], large(product[0]), rtol=1e-3)


@pytest.mark.parametrize("first_layer", [1, 2])
def test_transitions_follow_attention_and_weight_it_by_an_integral(first_layer: int) -> None:
    shown, steps = seen(), 4
    attention, _ = ran(shown)
    state = attention[-1].mean(0)[0]
    if first_layer == 1:
        state = state + state @ attention[0].mean(0)
    total = sum(ran(shown, share=k / (steps - 1))[1][-1] for k in range(steps))
    assert isinstance(total, Tensor)
    expected = large(state * (total / steps).clamp(min=0).mean(0)[0])
    found = explained("transition_attention_maps", steps=steps, first_layer=first_layer)
    np.testing.assert_allclose(found.scores[0], expected, rtol=1e-3, atol=1e-9)


def test_patches_of_a_division_add_up_their_pixels() -> None:
    pixels = explained("attention_attribution").scores[0]
    patches = explained("attention_attribution", unit="patch").scores[0]
    np.testing.assert_allclose(patches, pixels.reshape(14, 2, 14, 2).sum(axis=(1, 3)).ravel(), rtol=1e-5)


def test_parts_of_the_logit_add_up() -> None:
    found = explained("decompx_linear")
    gap = found.provenance.completeness_gap
    assert gap is not None
    assert abs(gap[0]) < 1e-4
    assert found.scores.any()


def frozen_parts(model: Any, inputs: Tensor, target: int) -> tuple[Tensor, Tensor]:
    """Carry every token through a ViT of which attention, norms and slopes are held; its part of a logit, and biases'.

    One state after the other, in double precision, and with nothing of the package.
    """
    model = copy.deepcopy(model).double()
    vit = model.vit
    states = vit.embeddings(inputs.double())[0]  # [tokens, width]
    size = len(states)
    parts = torch.zeros(size, size + 1, states.shape[1], dtype=torch.float64)  # the last source: biases
    parts[torch.arange(size), torch.arange(size)] = states

    def normed(layer: Any, own: Tensor) -> Tensor:
        whole = own.sum(1)
        deviation = (whole.var(-1, unbiased=False) + layer.eps).sqrt()[:, None, None]
        found = layer.weight * (own - own.mean(-1, keepdim=True)) / deviation
        found[:, -1] += layer.bias
        return found

    def linear(layer: Any, own: Tensor) -> Tensor:
        found = own @ layer.weight.T
        found[:, -1] += layer.bias
        return found

    for layer in vit.layers:
        entering = normed(layer.layernorm_before, parts)
        whole, attention = entering.sum(1), layer.attention
        heads = attention.config.num_attention_heads
        query, key = (one(whole).reshape(size, heads, -1) for one in (attention.q_proj, attention.k_proj))
        weights = torch.einsum("ihd,jhd->hij", query, key).div(query.shape[-1] ** 0.5).softmax(-1)
        values = linear(attention.v_proj, entering).reshape(size, size + 1, heads, -1)
        read = torch.einsum("hij,jshd->ishd", weights, values).reshape(size, size + 1, -1)
        parts = parts + linear(attention.o_proj, read)
        inner = linear(layer.mlp.fc1, normed(layer.layernorm_after, parts))
        whole = inner.sum(1)
        inner = inner * (torch.nn.functional.gelu(whole) / whole)[:, None]
        parts = parts + linear(layer.mlp.fc2, inner)
    found = linear(model.classifier, normed(vit.layernorm, parts)[:1])[0, :, target]
    return found[:-1], found[-1]


def test_parts_that_are_carried_forward_equal_those_of_a_loop() -> None:
    """Biases are a source of their own, so that nothing is shared out."""
    model = copy.deepcopy(classifier("vit", large=True).model)
    clf = wl.load(model, prepare)
    shown = picture(28, 28, seed=5)
    found = wl.explain(clf, shown, method="decompx", target=1, unit="patch", bias="token", progress=False)
    assert isinstance(found, wl.Explanation)
    with torch.no_grad():
        parts, biases = frozen_parts(model, prepare(Pillow.fromarray(shown.array))[None], 1)
        logit = model(prepare(Pillow.fromarray(shown.array))[None]).logits[0, 1]
    assert float(parts.sum() + biases) == pytest.approx(float(logit), rel=1e-5)
    tokens = parts[1:].reshape(4, 4)  # without [CLS]
    expected = tokens.repeat_interleave(7, 0).repeat_interleave(7, 1) / 49
    patches = expected.reshape(14, 2, 14, 2).sum((1, 3)).ravel()
    np.testing.assert_allclose(found.scores[0], patches, rtol=1e-3, atol=1e-5 * float(patches.abs().max()))
    assert found.scores.sum() == pytest.approx(float(parts[1:].sum()), rel=1e-4)


def test_a_convolutional_network_is_told_what_else_works() -> None:
    with pytest.raises(IncompatibleError, match="does not cut pictures into patches; use grad_cam"):
        wl.explain(classifier("resnet"), picture(), method="attention", progress=False)
    with pytest.raises(IncompatibleError, match="for vision transformers alone"):
        wl.explain(wl.load(), "a good film", method="attention_attribution", progress=False)


def half_that_sees(kind: str) -> PreTrainedModel:
    """Make a model of pictures and texts, of which the half of pictures classifies."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    vision = {**sizes, "image_size": 28, "patch_size": 7}
    if kind == "clip":
        return CLIPForImageClassification(CLIPConfig(vision_config=vision, num_labels=2)).eval()
    return SiglipForImageClassification(SiglipConfig(vision_config=vision, num_labels=2)).eval()


@pytest.mark.parametrize(("kind", "special"), [("clip", 1), ("siglip", 0)])
def test_the_half_of_a_model_that_sees_is_read(kind: str, special: int) -> None:
    model, said = half_that_sees(kind), Said()
    clf = wl.load(model, prepare)
    with said.of("transformers"):
        found = wl.explain(clf, picture(40, 60), method="attention", layer="all", progress=False)
    assert said.records == []
    assert [one.provenance.settings["layer"] for one in found] == [1, 2]
    seen = found[0].example
    assert isinstance(seen, Image)
    colours = torch.as_tensor(seen.array / 255, dtype=torch.float32)
    with torch.no_grad(), eager_attention(model):
        output = model(((colours - MEAN) / DEVIATION).permute(2, 0, 1)[None], output_attentions=True)
    for one, attention in zip(found, output.attentions, strict=True):
        row = attention[0].mean(0)[special:].mean(0)  # the head reads the mean of all patches
        np.testing.assert_allclose(one.scores[0], large(row if special else torch.cat([row[:1], row])), rtol=1e-4)


class Said(logging.Handler):
    """What a library has logged."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.records.append(record.getMessage())

    @contextmanager
    def of(self, library: str) -> Iterator[None]:
        """Listen to a library."""
        logging.getLogger(library).addHandler(self)
        try:
            yield
        finally:
            logging.getLogger(library).removeHandler(self)
