"""Any function from texts to probabilities is a classifier."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import quick
from whylight.core.errors import IncompatibleError, InputError, ModelError, SettingError, WhylightError
from whylight.core.registry import METHODS
from whylight.explaining.explain import explain
from whylight.models.load import load
from whylight.views.game import Game

GAMES = [name for name in quick.METHOD_NAMES if METHODS[name].consumes == (Game,)]
WORTH = {"good": 0.2, "bad": -0.3, "very": 0.05, "not": -0.1}


def rule(texts: list[str]) -> Any:
    """The probability is additive in known words, so that occlusion gives their worth back."""
    p = np.asarray([0.5 + sum(WORTH.get(word, 0.0) for word in text.lower().split()) for text in texts])
    return np.stack([1 - p, p], axis=1)


def make(function: Callable[[list[str]], Any] = rule, **options: Any) -> Any:
    return load(function, **{"labels": ["no", "yes"], **options})


@pytest.mark.parametrize("method", GAMES)
@pytest.mark.parametrize("text", ["good", "very good film", "a\x00b \U0001f468\u200d\U0001f469", "good. very bad!"])
@pytest.mark.parametrize("unit", ["word", "sentence"])
def test_every_game_method_works(method: str, text: str, unit: str) -> None:
    explanation = quick.run(make(), text, method, unit=unit, target="all")
    assert explanation.scores.shape == (2, len(explanation.spans))
    assert np.isfinite(explanation.scores).all()
    assert explanation.provenance.score == "probability"


@pytest.mark.parametrize("method", ["occlusion", "kernel_shap", "shapley_sampling"])
def test_an_additive_rule_gets_its_worth_back(method: str) -> None:
    found = dict(quick.run(make(), "a very good but not bad film", method, target="yes").as_list())
    expected = {word: WORTH.get(word, 0.0) for word in found}
    assert found == pytest.approx(expected, abs=1e-9)


def test_the_default_method_is_kernel_shap() -> None:
    assert explain(make(), "good film").provenance.method == "kernel_shap"


def test_gradient_methods_are_refused_with_those_that_work() -> None:
    with pytest.raises(IncompatibleError, match=r"'saliency' needs gradients.*occlusion") as caught:
        explain(make(), "good film", method="saliency")
    listed = str(caught.value).split("work with this model: ")[1].rstrip(".").split(", ")
    assert listed == GAMES


def test_texts_are_deleted_joined_by_one_blank_or_masked() -> None:
    asked = list[str]()

    def spy(texts: list[str]) -> Any:
        asked.extend(texts)
        return rule(texts)

    quick.run(make(spy), "Good,  film!", "occlusion")
    assert asked[:2] == ["Good,  film!", "Good,  film!"]
    assert sorted(asked[2:]) == sorted([", film !", "Good film !", "Good , !", "Good , film"])
    asked.clear()
    quick.run(make(spy, mask_string="[X]"), "Good,  film!", "occlusion", remover="mask")
    assert asked[:2] == ["Good,  film!", "Good,  film!"]
    assert sorted(asked[2:]) == sorted(["[X],  film!", "Good[X]  film!", "Good,  [X]!", "Good,  film[X]"])


def test_each_text_but_the_untouched_one_is_asked_once_and_in_batches() -> None:
    sizes, asked = list[int](), list[str]()

    def spy(texts: list[str]) -> Any:
        sizes.append(len(texts))
        asked.extend(texts)
        assert all(type(text) is str for text in texts)
        return rule(texts)

    explanations = explain(make(spy), "a very good but not bad film", method=["kernel_shap", "occlusion"], samples=500)
    assert asked[0] == asked[1]  # the untouched text, twice, to see whether the answer is the same
    assert len(asked) == len(set(asked)) + 1
    assert max(sizes) <= 256
    assert explanations[1].provenance.forward_passes == 8


@pytest.mark.parametrize("space", ["probability", "log_odds", "log_probability"])
@pytest.mark.parametrize("head", ["softmax", "sigmoid"])
def test_score_spaces_give_the_probabilities_back(space: str, head: str) -> None:
    explanation = quick.run(make(head=head), "good film", "occlusion", score=space, target="yes")
    before, after = 0.7, 0.5
    as_score: Callable[[float], float] = {
        "probability": lambda p: p,
        "log_odds": lambda p: float(np.log(p / (1 - p))),
        "log_probability": lambda p: float(np.log(p)),
    }[space]
    np.testing.assert_allclose(explanation.scores[0], [as_score(before) - as_score(after), 0.0], atol=1e-9)


@pytest.mark.parametrize("certain", [[[0.0, 1.0]], [[1.0, 0.0]]])
@pytest.mark.parametrize("space", ["probability", "log_odds", "log_probability"])
@pytest.mark.parametrize("head", ["softmax", "sigmoid"])
def test_certainty_is_finite(certain: Any, space: str, head: str) -> None:
    clf = make(lambda texts: certain * len(texts), head=head)
    explanation = quick.run(clf, "good film", "occlusion", score=space, target="all")
    np.testing.assert_allclose(explanation.scores, 0, atol=1e-12)
    np.testing.assert_allclose(explanation.prediction.probabilities, certain[0], atol=1e-9)


def test_the_logit_of_a_callable_does_not_exist() -> None:
    with pytest.raises(SettingError, match="probability, log_odds, log_probability"):
        explain(make(), "good", score="logit")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda n: [[float("nan"), 0.5]] * n, "NaN"),
        (lambda n: [[float("inf"), 0.5]] * n, "infinity"),
        (lambda n: [[0.5, 0.25, 0.25]] * n, "shape"),
        (lambda _: [[0.5, 0.5]] * 99, "shape"),
        (lambda n: [0.5] * n, "shape"),
        (lambda n: [[0.5, 0.4]] * n, "sum to 1.*head='sigmoid'"),
        (lambda n: [[1.5, -0.5]] * n, "outside 0 to 1"),
        (lambda n: [[3.0, -2.0]] * n, "outside 0 to 1"),
        (lambda n: ["yes"] * n, "numbers"),
        (lambda _: None, "must return"),
        (lambda n: [[0.5], [0.5, 0.5]] * n, "numbers"),
        (lambda n: [{"yes": 0.5}] * n, "numbers"),
    ],
)
def test_a_callable_that_breaks_its_contract_is_told_so(answer: Callable[[int], Any], says: str) -> None:
    with pytest.raises(ModelError, match=says) as caught:
        explain(make(lambda texts: answer(len(texts))), "good film")
    assert "\n" not in str(caught.value)


def test_other_containers_of_numbers_are_welcome() -> None:
    for wrap in (list, np.asarray, torch.tensor, lambda rows: np.asarray(rows, dtype=np.float32)):
        clf = make(lambda texts, wrap=wrap: wrap([[0.5, 0.5]] * len(texts)))
        assert quick.run(clf, "good film", "occlusion").scores.shape == (1, 2)


def test_the_error_of_a_callable_is_its_own() -> None:
    def broken(_texts: list[str]) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        explain(make(broken), "good")


def test_what_a_callable_cannot_do_is_refused_with_what_would_work() -> None:
    with pytest.raises(ModelError, match="labels="):
        load(rule)
    with pytest.raises(SettingError, match="head='sigmoid'"):
        load(rule, labels=["a", "b"], head="binary")
    with pytest.raises(IncompatibleError, match="'word' or 'sentence'"):
        explain(make(), "good", unit="token")
    with pytest.raises(InputError, match="join the two texts"):
        explain(make(), ("good", "bad"))
    with pytest.raises(SettingError, match="Known: delete"):
        explain(make(), "good", remover="mask")


def test_sigmoid_labels_are_independent() -> None:
    clf = load(lambda texts: [[0.9, 0.8, 0.1]] * len(texts), labels=["a", "b", "c"], head="sigmoid")
    assert [t.label for t in quick.run(clf, "good", "occlusion").targets] == ["a", "b"]


def test_a_callable_object_and_a_method_are_callables() -> None:
    class Model:
        def predict_proba(self, texts: list[str]) -> Any:
            return rule(texts)

        def __call__(self, texts: list[str]) -> Any:
            return rule(texts)

    for function in (Model(), Model().predict_proba):
        assert "Model" in explain(make(function), "good").provenance.model


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(WhylightError, match="surrogate"):
        explain(make(), "good \ud800")


def test_a_callable_may_return_a_tensor_that_carries_a_graph() -> None:
    clf = load(lambda texts: torch.full((len(texts), 2), 0.5, requires_grad=True), labels=["no", "yes"])
    assert explain(clf, "a good film", method="occlusion").scores.tolist() == [[0.0, 0.0, 0.0]]
