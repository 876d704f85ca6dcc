"""Attention of a vision transformer: each method once more, from what the model hands out."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import interpolate

import whylight as wl
from images.pictures import picture
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


def test_a_convolutional_network_is_told_what_else_works() -> None:
    with pytest.raises(IncompatibleError, match="does not cut pictures into patches; use grad_cam"):
        wl.explain(classifier("resnet"), picture(), method="attention", progress=False)
    with pytest.raises(IncompatibleError, match="for vision transformers alone"):
        wl.explain(wl.load(), "a good film", method="attention_attribution", progress=False)
