"""What every method promises on every architecture, new plug-ins included."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

import quick
import tiny
from whylight.core.errors import IncompatibleError
from whylight.core.registry import METHODS
from whylight.explaining.explain import explain

every_method = pytest.mark.parametrize("method", quick.METHOD_NAMES)
every_architecture = pytest.mark.parametrize("architecture", tiny.EVERY)
seeded = pytest.mark.parametrize("method", [name for name in quick.METHOD_NAMES if "seed" in METHODS[name].settings])


@contextmanager
def token_budget(clf: Any, tokens: int) -> Iterator[None]:
    before, clf.engine.budget = clf.engine.budget, tokens
    try:
        yield
    finally:
        clf.engine.budget = before


@every_architecture
@every_method
def test_scores_have_a_row_a_target_and_a_column_a_feature(method: str, architecture: str) -> None:
    explanation = quick.run(quick.classifier(architecture, num_labels=3), quick.TEXT, method, target="all")
    specific = METHODS[method].facts["class_specific"] or architecture in tiny.CHUNKED  # labels have their attention
    assert explanation.provenance.class_specific == specific
    assert explanation.scores.shape == (3 if specific else 1, 10)
    assert explanation.scores.dtype == np.float64
    assert np.isfinite(explanation.scores).all()
    assert np.abs(explanation.scores).max() > 0
    assert [explanation.example.show(s) for s in explanation.spans] == [
        "The",
        "acting",
        "was",
        "good",
        ",",
        "but",
        "the",
        "plot",
        "drags",
        "!",
    ]
    if not METHODS[method].facts["signed"]:
        assert (explanation.scores >= 0).all()


@every_architecture
@every_method
def test_the_same_call_gives_the_same_bytes(method: str, architecture: str) -> None:
    clf = quick.classifier(architecture)
    first, second = (quick.run(clf, quick.TEXT, method, target="all") for _ in range(2))
    assert first.scores.tobytes() == second.scores.tobytes()


@every_architecture
@every_method
def test_scores_do_not_depend_on_the_token_budget(method: str, architecture: str) -> None:
    clf = quick.classifier(architecture)
    found = []
    for budget in (1, 100_000):
        with token_budget(clf, budget):
            found.append(quick.run(clf, "The plot was good, but drags!", method, target="all").scores)
    np.testing.assert_allclose(found[0], found[1], atol=1e-5 * np.abs(found[1]).max(), rtol=1e-5)


@every_architecture
@pytest.mark.parametrize("remover", ["delete", "unk", "zero"])
def test_occlusion_does_not_depend_on_the_token_budget_under_any_remover(remover: str, architecture: str) -> None:
    clf = quick.classifier(architecture)
    found = []
    for budget in (1, 100_000):
        with token_budget(clf, budget):
            found.append(quick.run(clf, quick.TEXT, "occlusion", remover=remover).scores)
    np.testing.assert_allclose(found[0], found[1], atol=1e-5 * np.abs(found[1]).max(), rtol=1e-5)


@every_architecture
def test_the_noise_of_gradient_shap_does_not_depend_on_the_token_budget(architecture: str) -> None:
    clf, found = quick.classifier(architecture), []
    for budget in (1, 100_000):
        with token_budget(clf, budget):
            found.append(quick.run(clf, "good plot drags", "gradient_shap", noise=0.5).scores)
    np.testing.assert_allclose(found[0], found[1], atol=1e-5 * np.abs(found[1]).max(), rtol=1e-5)


@every_method
@pytest.mark.parametrize("architecture", ["bert", *tiny.CHUNKED])
def test_each_target_has_the_row_that_it_would_have_alone(method: str, architecture: str) -> None:
    clf = quick.classifier(architecture, num_labels=3)
    together = quick.run(clf, quick.TEXT, method, target="all")
    for target in together.targets:
        alone = quick.run(clf, quick.TEXT, method, target=target.index)
        if method != "random":
            np.testing.assert_allclose(together.row(target), alone.scores[0], atol=2e-5 * np.abs(alone.scores).max())


@seeded
def test_another_seed_gives_other_numbers_and_the_same_seed_the_same(method: str) -> None:
    clf, text = quick.classifier("bert"), " ".join(["good plot but dull ending"] * 3)
    one, again, other = (quick.run(clf, text, method, seed=seed).scores for seed in (1, 1, 2))
    assert one.tobytes() == again.tobytes()
    assert one.tobytes() != other.tobytes()


@every_method
def test_every_setting_has_a_default_of_its_own_type(method: str) -> None:
    spec = METHODS[method]
    for name, setting in spec.settings.items():
        assert setting.default is not inspect.Parameter.empty, f"{method}.{name} has no default"
        assert setting.parse(setting.default) == setting.default
        assert setting.parse(str(setting.default)) == setting.default
    assert spec.summary.endswith(".")


@every_method
@pytest.mark.parametrize("unit", ["word", "token", "sentence"])
@pytest.mark.parametrize("architecture", ["bert", "roberta", "llama", "plm_ca"])
def test_every_unit_is_explained(method: str, unit: str, architecture: str) -> None:
    text = "Gripping films! The plot drags though."
    expected = {
        "word": ["Gripping", "films", "!", "The", "plot", "drags", "though", "."],
        "token": ["Gripping", "film", "s", "!", "The", "plot", "drags", "though", "."],
        "sentence": ["Gripping films!", "The plot drags though."],
    }[unit]
    explanation = quick.run(quick.classifier(architecture), text, method, unit=unit, target=0)
    assert [text for text, _ in explanation.as_list()] == expected
    assert explanation.provenance.unit == unit
    assert np.isfinite(explanation.scores).all()


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


@every_method
@pytest.mark.parametrize("space", ["probability", "log_odds", "log_probability"])
@pytest.mark.parametrize("architecture", ["distilbert", "plm_ca"])
def test_every_score_space_is_explained_or_refused_as_declared(method: str, space: str, architecture: str) -> None:
    if METHODS[method].facts["logit_only"]:
        with pytest.raises(IncompatibleError, match=f"'{method}' explains logits and not the score '{space}'"):
            quick.run(quick.classifier(architecture), quick.TEXT, method, score=space)
        return
    explanation = quick.run(quick.classifier(architecture), quick.TEXT, method, score=space)
    assert explanation.provenance.score == space
    assert np.isfinite(explanation.scores).all()


@every_method
@pytest.mark.parametrize("architecture", ["bert", "plm_ca"])
def test_half_precision_models_are_explained_as_they_are(method: str, architecture: str) -> None:
    model = tiny.model(architecture).to(torch.bfloat16)
    clf = tiny.load(model, tiny.tokenizer())
    assert np.isfinite(quick.run(clf, quick.TEXT, method).scores).all()
    assert model.dtype == torch.bfloat16


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
