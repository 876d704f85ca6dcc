"""Sequential integrated gradients of the highest logit, beside plain calls of the model with a token exchanged."""

from typing import Any

import numpy as np
import pytest
import torch

import quick
import tiny
from whylight.explaining.explain import explain

TEXT = "good plot but the ending drags"


def by_hand(clf: Any, text: str) -> list[float]:
    """The highest logit of the text, less that of the text with one token masked, word by word."""
    inputs = clf.tokenizer(text, return_tensors="pt")

    def highest(ids: Any) -> float:
        with torch.no_grad():
            return float(clf.model(**{**inputs, "input_ids": ids}).logits.max())

    whole, drops = highest(inputs["input_ids"]), []
    for place in range(1, inputs["input_ids"].shape[1] - 1):
        ids = inputs["input_ids"].clone()
        ids[0, place] = clf.tokenizer.mask_token_id
        drops.append(whole - highest(ids))
    return drops


def test_it_is_the_fall_of_the_highest_logit_for_every_target() -> None:
    flips, asked = 0, {"method": "sequential_integrated_gradients", "unit": "token"}
    for seed in range(6):
        clf = tiny.classifier("bert", num_labels=4, seed=seed)
        found: Any = explain(clf, TEXT, follow="highest", target="all", **asked)
        own: Any = explain(clf, TEXT, target="predicted", **asked)
        for row in found.scores:
            assert row == pytest.approx(by_hand(clf, TEXT), abs=1e-4)
        flips += int(np.abs(found.scores[0] - own.scores[0]).max() > 1e-3)
        assert any("whichever label is highest" in note for note in found.provenance.notes)
    assert flips  # else it would show nothing: some word decides which label is highest


@pytest.mark.parametrize("architecture", ["bert", "plm_ca"])
def test_norms_and_long_texts_have_it_too(architecture: str) -> None:
    clf = quick.classifier(architecture, num_labels=3)
    text = " ".join([TEXT] * 12)
    one: Any = quick.run(clf, text, "sequential_integrated_gradients", follow="highest", target=0)
    two: Any = quick.run(clf, text, "sequential_integrated_gradients", follow="highest", target=1)
    assert np.array_equal(one.scores, two.scores)
    norm: Any = quick.run(clf, TEXT, "sequential_integrated_gradients", follow="highest", pooling="l2")
    assert (norm.scores >= 0).all()
