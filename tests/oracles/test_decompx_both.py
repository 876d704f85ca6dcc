"""Two ways to one decomposition: parts carried forward layer by layer, and one gradient of the held network."""

from typing import Any

import numpy as np
import pytest

import quick
import tiny
from whylight.models.load import load

TEXT = "The acting was never dull, but the plot drags! Films and scripts nevers end, good moving endings ever"
ARCHITECTURES = (
    *("bert", "roberta", "xlm_roberta", "distilbert", "electra", "albert", "modernbert", "modernbert_mean"),
    *tiny.CHUNKED,
)

SINGLE = ("modernbert", "modernbert_mean")
"""Architectures whose written-out attention, which `decompx` records, takes its softmax in single precision."""


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("precision", "within"), [("float", 1e-4), ("double", 1e-10)])
def test_carried_forward_or_propagated_back_a_token_has_the_same_part(
    architecture: str, precision: str, within: float
) -> None:
    model: Any = getattr(tiny.model(architecture, num_labels=3), precision)()
    clf = load(model, tiny.tokenizer(tiny.style_of(architecture)))
    forward = quick.run(clf, TEXT, "decompx", bias="token", target="all", unit="token").scores
    backward = quick.run(clf, TEXT, "decompx_linear", target="all", unit="token").scores
    largest = np.abs(backward).max(axis=1, keepdims=True)
    assert (np.abs(forward - backward) / largest).max() < (max(within, 1e-6) if architecture in SINGLE else within)


def test_shared_out_biases_make_a_difference() -> None:
    clf = quick.classifier("bert")
    forward = quick.run(clf, TEXT, "decompx", bias="absdot", unit="token").scores
    backward = quick.run(clf, TEXT, "decompx_linear", unit="token").scores
    assert np.abs(forward - backward).max() > 0.01 * np.abs(backward).max()
