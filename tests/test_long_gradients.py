"""Gradients of texts in several windows are the document's: a token in an overlap has one embedding, read twice."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import quick
import tiny
from whylight.core.encoded import Encoded
from whylight.core.registry import METHODS
from whylight.explaining import provide

LONG = " ".join(f"{a} films drags {b} plot" for a in ("good", "dull", "never") for b in ("very", "not", "awful"))
TEXTS = {
    "words": f"{LONG}{' end' * 40}",
    "a word longer than a window": f"the {'abcdefghij' * 9} film was moving{' good' * 60}",
}
POOLED = {"l1": 1, "l2": 2}
every_text = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
some_architectures = pytest.mark.parametrize("architecture", ["bert", "roberta", "llama"])


def in_tokens(clf: Any, text: str) -> Encoded:
    """Features are tokens, so that a window's features say which tokens it holds."""
    encoded = quick.encode(clf, text, unit="token")
    assert len(encoded.windows) > 2
    assert encoded.n_features == len(clf.tokenizer(text, add_special_tokens=False)["input_ids"])
    return encoded


def document(clf: Any, encoded: Encoded) -> tuple[Tensor, Tensor]:
    """Return the embedding of each token, a leaf `[tokens, dims]`, and the mean logits of windows that share it."""
    table = clf.model.get_input_embeddings()
    tokens = np.zeros(encoded.n_features, dtype=np.int64)
    for window in encoded.windows:
        content = window.feature >= 0
        tokens[window.feature[content]] = window.ids[content]
    leaf = table(torch.as_tensor(tokens)).detach().requires_grad_(requires_grad=True)
    logits = []
    for window in encoded.windows:
        feature = torch.as_tensor(window.feature)
        own = torch.where((feature >= 0)[:, None], leaf[feature], table(torch.as_tensor(window.ids)))
        handle = table.register_forward_hook(lambda _module, _args, _out, own=own: own[None])
        try:
            row = torch.as_tensor(window.ids)[None]
            types = {"token_type_ids": torch.as_tensor(window.types)[None]} if "token_type_ids" in clf.keys else {}
            logits.append(clf.model(input_ids=row, attention_mask=torch.ones_like(row), **types).logits[0])
        finally:
            handle.remove()
    return leaf, torch.stack(logits).mean(0)


def gradients(clf: Any, encoded: Encoded) -> tuple[Tensor, Tensor]:
    """Return the embeddings `[tokens, dims]`, and the document's gradient by them, `[labels, tokens, dims]`."""
    leaf, logits = document(clf, encoded)
    return leaf.detach(), torch.stack([torch.autograd.grad(one, leaf, retain_graph=True)[0] for one in logits])


def norms(values: Tensor, order: int) -> Any:
    return torch.linalg.vector_norm(values, ord=order, dim=-1).double().numpy()


@some_architectures
@every_text
@pytest.mark.parametrize("pooling", POOLED)
def test_a_norm_is_that_of_the_gradient_of_the_document(architecture: str, text: str, pooling: str) -> None:
    clf = quick.classifier(architecture)
    encoded = in_tokens(clf, text)
    embedded, gradient = gradients(clf, encoded)
    for method, expected in (("saliency", gradient), ("input_x_gradient", embedded * gradient)):
        found = quick.run(clf, text, method, pooling=pooling, unit="token", target="all").scores
        right = norms(expected, POOLED[pooling])
        np.testing.assert_allclose(found, right, atol=1e-5 * right.max())


@every_text
def test_attingrad_is_the_attention_times_the_norm_that_the_document_has(text: str) -> None:
    clf = quick.classifier("bert")
    encoded = in_tokens(clf, text)
    embedded, gradient = gradients(clf, encoded)
    attention = quick.run(clf, text, "attention", unit="token").scores
    expected = attention * norms(embedded * gradient, 2)
    found = quick.run(clf, text, "attingrad", unit="token", target="all").scores
    np.testing.assert_allclose(found, expected, atol=1e-5 * expected.max())


def test_targets_that_do_not_fit_together_get_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    clf, text = tiny.classifier("bert", num_labels=5), TEXTS["words"]
    methods = ("saliency", "attingrad", "integrated_gradients")
    together = [quick.run(clf, text, method, target="all").scores for method in methods]
    monkeypatch.setattr(provide, "GRADIENT_BYTES", 1)
    for method, expected in zip(methods, together, strict=True):
        found = quick.run(clf, text, method, target="all").scores
        np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@every_text
def test_the_largest_piece_of_a_word_is_chosen_in_the_document(text: str) -> None:
    clf = quick.classifier("bert")
    tokens = quick.run(clf, text, "saliency", unit="token", target="all")
    words = quick.run(clf, text, "saliency", pieces="max", target="all")
    for number, word in enumerate(words.spans):
        inside = [i for i, span in enumerate(tokens.spans) if word.start <= span.start < word.end]
        np.testing.assert_allclose(words.scores[:, number], tokens.scores[:, inside].max(axis=1), rtol=1e-5)


@every_text
def test_one_token_on_its_way_asks_only_the_windows_that_hold_it(text: str) -> None:
    clf = quick.classifier("bert")
    encoded = quick.encode(clf, text)
    held = sum(int((window.feature >= 0).sum()) for window in encoded.windows)
    found = quick.run(clf, text, "sequential_integrated_gradients")
    assert found.provenance.forward_passes == held + len(encoded.windows)


def test_a_norm_along_the_way_of_one_token_is_the_document_s() -> None:
    clf, text = quick.classifier("bert"), TEXTS["words"]
    totals = quick.run(clf, text, "sequential_integrated_gradients", unit="token").scores[0]
    found = quick.run(clf, text, "sequential_integrated_gradients", unit="token", pooling="l1", tolerance=0.001)
    assert found.provenance.notes[1:] == ()
    assert (found.scores[0] >= np.abs(totals) - 1e-3 * np.abs(totals).max()).all()  # |sum| is at most the sum of sizes


def test_methods_that_were_sums_over_windows_still_are() -> None:
    clf, text = quick.classifier("bert"), TEXTS["words"]
    encoded = quick.encode(clf, text)
    for method in ("integrated_gradients", "deeplift", "decompx_linear"):
        settings = {**METHODS[method].complete_settings({}), **quick.cheap(method)}
        expected = np.zeros((2, encoded.n_features))
        for number in range(len(encoded.windows)):
            segment, held = encoded.segment(number)
            view = clf.gradient_view(segment, quick.request(clf))
            expected[:, held] += METHODS[method].function(view, **settings).values / len(encoded.windows)
        found = quick.run(clf, text, method, target="all")
        np.testing.assert_allclose(found.scores, expected, atol=1e-5 * np.abs(expected).max())
