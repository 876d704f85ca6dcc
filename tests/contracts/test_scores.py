"""What some methods promise of their scores besides what all do."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import quick
import tiny
from whylight.core.registry import METHODS
from whylight.explaining.explain import explain

every_architecture = pytest.mark.parametrize("architecture", tiny.EVERY)
WORDS = ["The", "acting", "was", "good", ",", "but", "the", "plot", "drags", "!"]
UNITS = {
    "word": ["Gripping", "films", "!", "The", "plot", "drags", "though", "."],
    "token": ["Gripping", "film", "s", "!", "The", "plot", "drags", "though", "."],
    "sentence": ["Gripping films!", "The plot drags though."],
}


@contextmanager
def token_budget(clf: Any, tokens: int) -> Iterator[None]:
    before, clf.engine.budget = clf.engine.budget, tokens
    try:
        yield
    finally:
        clf.engine.budget = before


def one_by_one_and_together(clf: Any, text: str, method: str, **options: Any) -> list[Any]:
    found = []
    for budget in (1, 100_000):
        with token_budget(clf, budget):
            found.append(quick.run(clf, text, method, **options).scores)
    return found


@every_architecture
def test_the_words_of_a_text_are_its_features(architecture: str) -> None:
    explanation = quick.run(quick.classifier(architecture), quick.TEXT, "occlusion")
    assert [explanation.example.show(span) for span in explanation.spans] == WORDS
    assert explanation.scores.dtype == np.float64


@pytest.mark.parametrize("architecture", ["bert", *tiny.CHUNKED])
@pytest.mark.parametrize("method", quick.METHOD_NAMES)
def test_labels_have_rows_of_their_own_where_a_method_or_the_model_tells_them_apart(
    method: str, architecture: str
) -> None:
    explanation = quick.run(quick.classifier(architecture, num_labels=3), quick.TEXT, method, target="all")
    specific = METHODS[method].facts["class_specific"] or architecture in tiny.CHUNKED  # labels have their attention
    assert explanation.provenance.class_specific == specific
    assert explanation.scores.shape == (3 if specific else 1, 10)


@every_architecture
@pytest.mark.parametrize("remover", ["delete", "unk", "zero"])
def test_occlusion_does_not_depend_on_the_token_budget_under_any_remover(remover: str, architecture: str) -> None:
    alone, together = one_by_one_and_together(quick.classifier(architecture), quick.TEXT, "occlusion", remover=remover)
    np.testing.assert_allclose(alone, together, atol=1e-5 * np.abs(together).max(), rtol=1e-5)


@every_architecture
def test_the_noise_of_gradient_shap_does_not_depend_on_the_token_budget(architecture: str) -> None:
    alone, together = one_by_one_and_together(
        quick.classifier(architecture), "good plot drags", "gradient_shap", noise=0.5
    )
    np.testing.assert_allclose(alone, together, atol=1e-5 * np.abs(together).max(), rtol=1e-5)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("architecture", ["bert", "roberta", "llama", "plm_ca"])
def test_units_are_words_tokens_and_sentences(unit: str, architecture: str) -> None:
    found = quick.run(
        quick.classifier(architecture), "Gripping films! The plot drags though.", "occlusion", unit=unit, target=0
    )
    assert [text for text, _ in found.as_list()] == UNITS[unit]


@pytest.mark.parametrize("method", ["saliency", "input_x_gradient", "attention", "attgrad", "attingrad"])
def test_a_word_scores_the_sum_maximum_or_mean_of_its_tokens(method: str) -> None:
    clf = quick.classifier("bert")
    text = "films drags nevers"
    tokens = np.asarray([score for _, score in quick.run(clf, text, method, unit="token").as_list()])
    assert len(tokens) == 5
    groups = [tokens[:2], tokens[2:3], tokens[3:]]
    for pieces, reduce in (("sum", np.sum), ("max", np.max), ("mean", np.mean)):
        words = quick.run(clf, text, method, pieces=pieces).scores[0]
        np.testing.assert_allclose(words, [reduce(group) for group in groups], rtol=1e-6)


def test_several_texts_and_methods_come_text_by_text() -> None:
    clf = quick.classifier("bert")
    found = explain(clf, ["good plot", ("bad film", "dull")], method=["occlusion", "saliency"])
    assert [(e.example.text, e.provenance.method) for e in found] == [
        ("good plot", "occlusion"),
        ("good plot", "saliency"),
        ("bad film", "occlusion"),
        ("bad film", "saliency"),
    ]
    for explanation in found:
        alone = explain(clf, explanation.example, method=explanation.provenance.method)
        assert alone.scores.tobytes() == explanation.scores.tobytes()
        assert alone.provenance.forward_passes == explanation.provenance.forward_passes
