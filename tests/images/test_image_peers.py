"""Captum as the reference, on two architectures of Hugging Face with random weights."""

from functools import cache

import numpy as np
import pytest
import torch
from captum.attr import InputXGradient, IntegratedGradients, Saliency
from torch import Tensor
from transformers import (
    PreTrainedModel,
    ResNetConfig,
    ResNetForImageClassification,
    ViTConfig,
    ViTForImageClassification,
)

import whylight as wl
from images.pictures import picture, prepare
from whylight.models.images import ImageClassifier
from whylight.testing.tiny import enlarge


@cache
def classifier(architecture: str, *, large: bool = False) -> ImageClassifier:
    """Make a classifier with random weights; with large ones pictures differ more."""
    torch.manual_seed(0)
    model: PreTrainedModel
    if architecture == "resnet":
        sizes = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"}
        model = ResNetForImageClassification(ResNetConfig(num_labels=3, **sizes))
    else:
        sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
        model = ViTForImageClassification(ViTConfig(num_labels=3, image_size=28, patch_size=7, **sizes))
    found = wl.load((enlarge(model) if large else model).eval(), prepare)
    assert isinstance(found, ImageClassifier)
    return found


def of_colours(clf: ImageClassifier, colours: Tensor) -> Tensor:
    """Return logits of colours `[rows, 3, height, width]`, without this package."""
    mean, deviation = (torch.tensor(one)[:, None, None] for one in ((0.5, 0.25, 0.75), (0.5, 0.25, 0.25)))
    logits: Tensor = clf.model((colours - mean) / deviation).logits
    return logits


@pytest.mark.parametrize("architecture", ["resnet", "vit"])
def test_gradients_agree_with_captum(architecture: str) -> None:
    clf, shown = classifier(architecture), picture(40, 60)
    found = wl.explain(
        clf,
        shown,
        method=["integrated_gradients", "input_x_gradient", "saliency"],
        target=1,
        progress=False,
        **{"integrated_gradients.baseline": "black", "integrated_gradients.steps": 50, "saliency.pooling": "l1"},
    )
    colours = torch.as_tensor(found[0].example.array / 255, dtype=torch.float32).permute(2, 0, 1)[None]  # type: ignore[attr-defined]

    def forward(values: Tensor) -> Tensor:
        return of_colours(clf, values)

    theirs = [
        IntegratedGradients(forward).attribute(colours, baselines=0.0, target=1, n_steps=50),
        InputXGradient(forward).attribute(colours.clone().requires_grad_(), target=1),
        Saliency(forward).attribute(colours.clone().requires_grad_(), target=1),
    ]
    for own, other in zip(found, theirs, strict=True):
        expected = other[0].sum(0).flatten().detach().double().numpy()
        assert np.abs(own.scores[0] - expected).max() <= 1e-4 * max(1e-3, np.abs(expected).max()), own.provenance.method
