"""Captum computes the same numbers where it can express the work."""

from typing import Any

import numpy as np
import pytest
import torch
from captum.attr import (
    FeatureAblation,
    LayerGradientXActivation,
    LayerIntegratedGradients,
    ShapleyValues,
)
from torch import Tensor

import quick

TEXT = "The films were never dull, but the plot drags!"
TARGET = 1
models = pytest.mark.parametrize("architecture", ["bert", "roberta", "distilbert"])


class Peer:
    """The model as Captum sees it."""

    def __init__(self, architecture: str) -> None:
        self.clf = quick.classifier(architecture)
        self.window = quick.encode(self.clf, TEXT, unit="token").windows[0]
        self.ids = torch.as_tensor(self.window.ids)[None]
        self.content = torch.as_tensor(self.window.feature >= 0)
        self.layer = self.clf.model.get_input_embeddings()

    def forward(self, ids: Tensor) -> Tensor:
        logits: Tensor = self.clf.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
        return logits

    @property
    def baseline(self) -> Tensor:
        return torch.where(self.content, self.clf.tokenizer.mask_token_id, self.ids)

    def ours(self, method: str, **options: Any) -> Any:
        return quick.run(self.clf, TEXT, method, unit="token", target=TARGET, **options).scores[0]

    def tokens(self, attributions: Tensor) -> Any:
        """Sum over dimensions, content tokens only."""
        return attributions.detach()[0, self.content].sum(-1).numpy()


def agree(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, atol=1e-4 * max(1.0, np.abs(expected).max()), rtol=1e-4)


@models
def test_integrated_gradients_agree(architecture: str) -> None:
    peer = Peer(architecture)
    theirs = LayerIntegratedGradients(peer.forward, peer.layer).attribute(
        peer.ids, baselines=peer.baseline, target=TARGET, n_steps=50, method="gausslegendre", internal_batch_size=16
    )
    agree(peer.ours("integrated_gradients", steps=50), peer.tokens(theirs))


@models
def test_input_times_gradient_agrees(architecture: str) -> None:
    peer = Peer(architecture)
    theirs = LayerGradientXActivation(peer.forward, peer.layer).attribute(peer.ids, target=TARGET)
    agree(peer.ours("input_x_gradient"), peer.tokens(theirs))


@models
@pytest.mark.parametrize(("pooling", "order"), [("l1", 1), ("l2", 2)])
def test_saliency_agrees(architecture: str, pooling: str, order: int) -> None:
    peer = Peer(architecture)
    gradients = LayerGradientXActivation(peer.forward, peer.layer, multiply_by_inputs=False).attribute(
        peer.ids, target=TARGET
    )
    expected = gradients.detach()[0, peer.content].norm(p=order, dim=-1).numpy()
    agree(peer.ours("saliency", pooling=pooling), expected)


@models
@pytest.mark.parametrize("remover", ["mask", "unk"])
def test_feature_ablation_agrees_with_occlusion(architecture: str, remover: str) -> None:
    peer = Peer(architecture)
    token = getattr(peer.clf.tokenizer, f"{remover}_token_id")
    with torch.no_grad():
        theirs = FeatureAblation(peer.forward).attribute(peer.ids, baselines=token, target=TARGET)
    agree(peer.ours("occlusion", remover=remover), theirs[0, peer.content].numpy())


@models
def test_words_agree_with_a_feature_mask(architecture: str) -> None:
    peer = Peer(architecture)
    window = quick.encode(peer.clf, TEXT).windows[0]
    groups = torch.as_tensor(np.where(window.feature >= 0, window.feature + 1, 0))[None]  # 0: special tokens
    with torch.no_grad():
        theirs = FeatureAblation(peer.forward).attribute(
            peer.ids, baselines=peer.clf.tokenizer.mask_token_id, target=TARGET, feature_mask=groups
        )[0]
    first = [int(np.flatnonzero(window.feature == i)[0]) for i in range(window.feature.max() + 1)]
    found = quick.run(peer.clf, TEXT, "occlusion", target=TARGET).scores[0]
    agree(found, theirs[first].numpy())


@models
def test_exact_shapley_values_agree_with_kernel_shap(architecture: str) -> None:
    clf, text = quick.classifier(architecture), "good films but dull"
    window = quick.encode(clf, text).windows[0]
    ids = torch.as_tensor(window.ids)[None]
    groups = torch.as_tensor(np.where(window.feature >= 0, window.feature, 4))[None]
    mask = clf.tokenizer.mask_token_id
    baseline = torch.where(torch.as_tensor(window.feature >= 0), mask, ids)

    def forward(rows: Tensor) -> Any:
        return clf.model(input_ids=rows, attention_mask=torch.ones_like(rows)).logits

    with torch.no_grad():
        theirs = ShapleyValues(forward).attribute(ids, baselines=baseline, target=TARGET, feature_mask=groups)[0]
    first = [int(np.flatnonzero(window.feature == i)[0]) for i in range(4)]
    agree(quick.run(clf, text, "kernel_shap", target=TARGET).scores[0], theirs[first].numpy())
