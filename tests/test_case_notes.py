"""What a receipt says about a model's answers: that they change, that names repeat, that words share a token."""

import random
from typing import Any

import numpy as np
import pytest
import torch

import quick
import tiny
from whylight.core.errors import InputError, SettingError, WhylightError
from whylight.core.labels import Labels
from whylight.explaining.explain import explain
from whylight.models.load import load
from whylight.run.bench import gold_index
from whylight.views.game import Game

CHANGES = "answers the same text differently each time"


class Restless(torch.nn.Module):
    """Dropout that does not know about evaluation."""

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(states, 0.5, training=True)


def notes(clf: Any, method: str, text: Any = quick.TEXT, **options: Any) -> str:
    return " | ".join(quick.run(clf, text, method, **options).provenance.notes)


@pytest.mark.parametrize("method", ["occlusion", "saliency", "attention", "lime"])
def test_a_model_that_draws_at_random_is_noted(method: str) -> None:
    model = tiny.model("bert", seed=3)
    model.bert.encoder.layer[0].output.dropout = Restless()
    torch.manual_seed(0)
    said = notes(load(model, tiny.tokenizer()), method)
    assert CHANGES in said
    assert float(said.split("differ by ")[1].split(")")[0]) > 1e-4


@pytest.mark.parametrize("text", [quick.TEXT, "good film " * 80])
def test_a_model_that_does_not_is_not(text: str) -> None:
    for architecture in ("bert", "llama", "bigbird", "plm_ca"):
        assert CHANGES not in notes(quick.classifier(architecture), "occlusion", text)


def test_a_random_function_is_noted_even_if_it_draws_once_a_call() -> None:
    generator = np.random.default_rng(0)

    def function(texts: list[str]) -> Any:
        first = generator.uniform(0.2, 0.8)
        return np.tile([first, 1 - first], (len(texts), 1))

    assert CHANGES in notes(load(function, labels=["no", "yes"]), "occlusion")
    assert CHANGES not in notes(load(lambda texts: np.full((len(texts), 2), 0.5), labels=["no", "yes"]), "occlusion")


def test_the_second_question_is_not_counted() -> None:
    clf = quick.classifier("bert")
    explanation = quick.run(clf, quick.TEXT, "occlusion")
    assert explanation.provenance.forward_passes == len(explanation.spans) + 1


def test_the_second_question_of_a_long_text_is_one_window() -> None:
    clf = tiny.classifier("bert")
    clf.finding(Game)
    rows = list[int]()
    real = clf.engine._forward
    clf.engine._forward = lambda batch: (rows.append(len(batch)), real(batch))[1]
    text = " ".join(random.Random(0).choices(tiny.WORDS, k=200))  # noqa: S311  not a secret
    explain(clf, text, method="random")
    assert sum(rows) == len(quick.encode(clf, text).windows) + 1


def test_repeated_label_names_are_noted_and_told_apart_by_number() -> None:
    clf = tiny.classifier("bert", num_labels=3, labels=["yes", "no", "yes"])
    said = notes(clf, "occlusion")
    assert "the labels 0, 2 are all called 'yes'" in said
    with pytest.raises(SettingError, match="2 labels are called 'yes'; say which by its number: 0, 2"):
        explain(clf, quick.TEXT, target="yes")
    assert explain(clf, quick.TEXT, target="no").targets[0].index == 1
    explanation = explain(clf, quick.TEXT, target=[2, 0], method="occlusion")
    assert [target.index for target in explanation.targets] == [2, 0]
    with pytest.raises(WhylightError, match=r"by its number: yes \(2\), yes \(0\)"):
        explanation.as_list("yes")
    assert explanation.as_list(0) != explanation.as_list(2)
    with pytest.raises(InputError, match="2 labels of that name"):
        gold_index(clf, "yes")
    assert "called" not in notes(quick.classifier("bert"), "occlusion")


def test_labels_that_differ_in_case_only_are_told_apart() -> None:
    clf = tiny.classifier("bert", labels=["US", "us"])
    assert [gold_index(clf, "US"), gold_index(clf, "us")] == [0, 1]
    with pytest.raises(InputError, match="2 labels of that name"):
        gold_index(clf, "Us")


@pytest.mark.parametrize("threshold", [float("nan"), -1, 2, "0.5", None])
def test_a_threshold_is_a_probability(threshold: Any) -> None:
    with pytest.raises(SettingError, match="from 0 to 1"):
        Labels(("a", "b"), "sigmoid", threshold)


def test_several_words_in_one_unknown_token_are_noted() -> None:
    clf = quick.classifier("bert")
    text = "good \U0001f600\U0001f601\U0001f602 film"
    explanation = quick.run(clf, text, "occlusion")
    words = [word for word, _ in explanation.as_list()]
    assert words == ["good", "\U0001f600", "\U0001f601", "\U0001f602", "film"]
    assert any("a token stands for several words at once" in note for note in explanation.provenance.notes)
    assert "stands for" not in notes(clf, "occlusion")
    assert "stands for" not in notes(clf, "occlusion", text, unit="token")
    both = notes(clf, "occlusion", (text, text))
    assert "2 tokens stand for several words" in both
    assert "windows" in notes(clf, "occlusion", f"{text} " * 60)
    assert "60 tokens stand" in notes(clf, "occlusion", f"{text} " * 60)
