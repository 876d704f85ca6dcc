"""EfficientNet-Lite0 with weights of ImageNet: it knows what it sees, and is explained as references say."""

import copy
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torchcam.methods import GradCAM

import whylight as wl
from whylight.core.image import Image
from whylight.models.images import ImageClassifier

sys.path.insert(0, str(Path(__file__).parents[2] / "findings"))
pytestmark = pytest.mark.vision
CAT, CATS, CUP = 285, {"tabby", "tiger cat", "Egyptian cat"}, "espresso"


@cache
def classifier() -> ImageClassifier:
    import lite0  # noqa: PLC0415  with its weights

    return lite0.classifier()


@cache
def photo(name: str = "chelsea") -> Image:
    from skimage import data  # noqa: PLC0415

    return wl.image(getattr(data, name)(), name=name)


def explained(method: str, **options: object) -> wl.Explanation:
    found = wl.explain(classifier(), photo(), method=method, target=CAT, progress=False, **options)
    assert isinstance(found, wl.Explanation)
    return found


def inputs(found: wl.Explanation, dtype: torch.dtype = torch.float32) -> Tensor:
    """What the network reads, from the colours of a picture."""
    assert isinstance(found.example, Image)
    colours = torch.as_tensor(found.example.array / 255, dtype=dtype).permute(2, 0, 1)[None]
    return (colours - 127 / 255) / (128 / 255)


def test_it_knows_a_cat_and_a_cup() -> None:
    found = wl.explain(classifier(), [photo(), photo("coffee")], method="saliency", progress=False)
    assert found[0].targets[0].label in CATS
    assert found[1].targets[0].label == CUP


def test_grad_cam_is_torchcams() -> None:
    found = explained("grad_cam")
    layer = found.provenance.notes[0].split("'")[1]
    model = copy.deepcopy(classifier().model)
    with GradCAM(model, target_layer=layer) as theirs:
        (field,) = theirs(CAT, model(inputs(found).requires_grad_()), normalized=False)
    large = interpolate(field.double()[None], size=(224, 224), mode="bilinear")[0, 0].flatten().numpy()
    assert np.abs(found.scores[0] - large).max() <= 1e-4 * large.max()


def test_integrated_gradients_are_captums() -> None:
    # in double precision, and on the same points: rounding decides here and there on which side of a bend a unit lies
    model = copy.deepcopy(classifier().model).double()
    clf = ImageClassifier(model, classifier().preparation, labels=classifier().labels, identity="double")
    asked = {"baseline": "black", "steps": 10, "target": CAT, "progress": False}
    found = wl.explain(clf, photo(), method="integrated_gradients", **asked)
    assert isinstance(found.example, Image)
    colours = torch.as_tensor(found.example.array / np.float32(255)).permute(2, 0, 1)[None]
    theirs = IntegratedGradients(lambda values: clf.logits(values.permute(0, 2, 3, 1)))
    expected = theirs.attribute(colours, baselines=0.0, target=CAT, n_steps=10)[0].sum(0).flatten().detach().numpy()
    assert np.abs(found.scores[0] - expected).max() <= 1e-4 * np.abs(expected).max()


class Gate(nn.Module):
    """A ReLU6 by the rule of guided backpropagation."""

    class _Gated(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: Tensor) -> Tensor:
            ctx.x = x  # type: ignore[attr-defined]
            return x.clamp(0, 6)

        @staticmethod
        def backward(ctx: object, *slopes: Tensor) -> Tensor:
            x = ctx.x  # type: ignore[attr-defined]
            return slopes[0].clamp(min=0) * ((x > 0) & (x < 6))

    def forward(self, x: Tensor) -> Tensor:
        """Return the rectified values."""
        made: Tensor = self._Gated.apply(x)
        return made


def gated(model: nn.Module) -> nn.Module:
    """Put the gate in the place of every ReLU6."""
    for name, child in model.named_children():
        if isinstance(child, nn.ReLU6):
            setattr(model, name, Gate())
        else:
            gated(child)
    return model


def test_guided_gradients_gate_every_relu6() -> None:
    found = explained("guided_backprop", pooling="sum")
    model = gated(copy.deepcopy(classifier().model)).double()
    values = inputs(found, torch.float64).requires_grad_()
    (slope,) = torch.autograd.grad(model(values)[0, CAT], values)
    expected = (slope[0].sum(0) / (128 / 255)).flatten().numpy()
    assert np.abs(found.scores[0] - expected).max() <= 1e-4 * np.abs(expected).max()


def test_walks_of_excitation_end_on_the_cat() -> None:
    found = explained("excitation_backprop")
    assert (found.scores >= 0).all()
    assert 0 < found.scores.sum() <= 1  # many end at units that only a shift of their batch norm excites
    middle = found.scores[0].reshape(224, 224)[40:200, 40:200].sum()
    assert middle > 0.6 * found.scores.sum()


def test_parts_of_the_logit_add_up() -> None:
    gap = explained("decompx_linear").provenance.completeness_gap
    assert gap is not None
    assert abs(gap[0]) < 1e-2
