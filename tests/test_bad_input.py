"""Bad input gets one clear sentence that says what would work, and never a crash."""

import copy
import pickle
from typing import Any

import pandas as pd
import pytest
from transformers import BertModel

import quick
import whylight as wl
from whylight.core.errors import InputError, SettingError, WhylightError
from whylight.explaining.explain import explain


def refused(says: str, text: Any = quick.TEXT, kind: type[WhylightError] = SettingError, **options: Any) -> None:
    with pytest.raises(kind, match=says) as caught:
        explain(quick.classifier("bert"), text, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")


@pytest.mark.parametrize("text", ["", " ", "\n\t \u3000", ("good", " "), ("", "good")])
def test_an_empty_text_is_refused(text: Any) -> None:
    refused("is empty", text, InputError)


@pytest.mark.parametrize("text", ["\ud800", "good \udfff film", ("good", "\ud83d")])
def test_half_a_character_is_refused(text: Any) -> None:
    refused("lone surrogate", text, InputError)


@pytest.mark.parametrize(
    "text", [None, 3, 2.5, [None], [3], ("a", "b", "c"), ("a", 1), ("a",), b"bytes", [["a", "b"]], {"text": "good"}]
)
def test_what_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(InputError) as caught:
        explain(quick.classifier("bert"), text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "limee"}, "Did you mean 'lime'"),
        ({"method": ""}, "occlusion"),
        ({"method": []}, "at least one"),
        ({"method": ["lime", "nope"]}, "unknown method 'nope'"),
        ({"target": "positve"}, "LABEL_0"),
        ({"target": 2}, "0 to 1"),
        ({"target": -1}, "0 to 1"),
        ({"target": []}, "at least one"),
        ({"unit": "words"}, "word, token, sentence"),
        ({"unit": 3}, "word, token, sentence"),
        ({"remover": "masks", "method": "occlusion"}, "Did you mean 'mask'"),
        ({"remover": "masks", "method": "saliency"}, "Did you mean 'mask'"),
        ({"remover": "erase", "method": "occlusion"}, "mask, unk, delete, pad, zero, infill"),
        ({"score": "logits"}, "Did you mean 'logit'"),
        ({"long": "windows"}, "window, segments, truncate, refuse"),
        ({"pieces": "median"}, "sum, max, mean"),
        ({"method": "lime", "sample": 3}, "Did you mean 'samples'"),
        ({"method": ["lime", "saliency"], "sample": 3}, "Did you mean 'samples'"),
        ({"method": "saliency", "samples": 3}, "setting of 'saliency'"),
        ({"method": "lime", "samples": "many"}, "whole number"),
        ({"method": "lime", "samples": 2.5}, "whole number"),
        ({"method": "lime", "samples": 0}, "at least 1"),
        ({"method": "lime", "samples": -5}, "at least 1"),
        ({"method": "lime", "alpha": 0}, "above 0"),
        ({"method": "lime", "sampler": "nope"}, "uniform, spans"),
        ({"method": "lime", "seed": -1}, "seed"),
        ({"method": "gradient_shap", "noise": -1}, "noise"),
        ({"method": "gradient_shap", "seed": 2**70}, "seed"),
        ({"method": "kernel_shap", "samples": 0}, "at least 1"),
        ({"method": "shapley_sampling", "permutations": 0}, "at least 1"),
        ({"method": "occlusion", "window": 0}, "at least 1"),
        ({"method": "integrated_gradients", "steps": 0}, "at least 1"),
        ({"method": "integrated_gradients", "steps": True}, "whole number"),
        ({"method": "integrated_gradients", "baseline": "nope"}, "auto, neutral, mask, unk, pad, zero"),
        ({"method": "saliency", "pooling": "max"}, "sum, l1, l2"),
    ],
)
def test_a_name_or_value_that_does_not_exist_is_refused(options: dict[str, Any], says: str) -> None:
    refused(says, **options)


def test_a_baseline_that_the_model_lacks_is_refused_with_those_it_has() -> None:
    with pytest.raises(SettingError, match="unk, zero"):
        explain(quick.classifier("llama"), quick.TEXT, method="integrated_gradients", baseline="mask")


def test_no_text_gives_no_explanation() -> None:
    assert explain(quick.classifier("bert"), []) == []


def test_a_mistake_in_the_call_is_found_before_the_model_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    clf = quick.classifier("bert")

    def never(_rows: Any) -> Any:
        raise AssertionError("the model ran")

    monkeypatch.setattr(clf.engine, "_forward", never)
    for options in ({"method": "nope"}, {"method": "lime", "samples": "x"}, {"unit": "x"}, {"remover": "x"}):
        with pytest.raises(SettingError):
            explain(clf, quick.TEXT, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("thing", [None, "folder", len, BertModel])
def test_what_has_not_been_loaded_is_no_classifier(thing: Any) -> None:
    data = wl.dataset("planted:", split="dev", size=2)
    calls = (
        lambda: wl.explain(thing, "a film"),
        lambda: wl.evaluate(thing, data, methods=["occlusion"]),
        lambda: wl.recommend(thing, data, budget=1),
        lambda: wl.audit(thing, data),
        lambda: wl.sanity_check(thing, data, methods=["occlusion"]),
        lambda: wl.compatible(thing),
        lambda: wl.measure(thing, data),  # type: ignore[arg-type]
    )
    for call in calls:
        with pytest.raises(InputError, match=f"is what wl.load returns, not {type(thing).__name__}; load it"):
            call()


def test_texts_in_a_list_are_no_data_set() -> None:
    clf: Any = quick.classifier("bert")
    texts: Any = ["a film"]
    calls = (
        lambda: wl.evaluate(clf, texts, methods=["occlusion"]),
        lambda: wl.recommend(clf, texts, budget=1),
        lambda: wl.audit(clf, texts),
        lambda: wl.sanity_check(clf, texts, methods=["occlusion"]),
    )
    for call in calls:
        with pytest.raises(InputError, match=r"data are what wl.dataset returns, not list"):
            call()
    with pytest.raises(InputError, match=r"not Explanation; wl.plot.compare takes explanations"):
        wl.compare(explain(clf, "a film", method="occlusion"), "lime")  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", ["", " ", "\ud800", float("nan"), ("good", "")])
def test_a_list_with_a_bad_input_is_refused_before_the_work_with_its_number(bad: Any) -> None:
    seen: list[str] = []

    def answers(texts: list[str]) -> list[list[float]]:
        seen.extend(texts)
        return [[0.5, 0.5]] * len(texts)

    clf = wl.load(answers, labels=["a", "b"])
    seen.clear()
    with pytest.raises(InputError, match=r"\(number 3 of 3 inputs\)\.$"):
        wl.explain(clf, ["a film", "a plot", bad], method="occlusion")
    assert not seen


def test_one_name_needs_no_list() -> None:
    clf, data = quick.classifier("bert"), wl.dataset("planted:", split="dev", size=2).without_labels()
    found = wl.evaluate(clf, data, methods="ixg", metrics="comprehensiveness", metric_removers="delete", progress=False)
    assert {row["method"] for row in found.scores} == {"input_x_gradient", "random"}
    assert {(row["metric"], row["remover"]) for row in found.scores} == {("comprehensiveness", "delete")}
    assert {line.method for line in wl.sanity_check(clf, data, methods="ixg", levels="head", progress=False).lines} == {
        "input_x_gradient",
        "random",
    }


def test_a_data_set_is_explained_and_a_table_of_pandas_is_not_its_header() -> None:
    clf, data = quick.classifier("bert"), wl.dataset("planted:", split="dev", size=2)
    found = wl.explain(clf, data, method="ixg")
    assert [one.example for one in found] == [record.example for record in data]
    assert wl.explain(clf, data[0], method="ixg").example == data[0].example
    table = pd.DataFrame({"text": ["a film"]})
    with pytest.raises(InputError, match=r"give one column of the table, e.g. list\(table\['text'\]\)"):
        wl.explain(clf, table, method="ixg")
    assert wl.explain(clf, table["text"], method="ixg")[0].example.key == "a film"


def test_a_list_says_that_one_of_it_has_what_was_asked_for() -> None:
    found: Any = wl.explain(quick.classifier("bert"), ["a film"], method="ixg")
    with pytest.raises(AttributeError, match=r"has no 'as_list'; one of them has it: \[0\].as_list"):
        found.as_list()
    with pytest.raises(AttributeError, match=r"a list of explanations has no 'nothing'$"):
        found.nothing  # noqa: B018
    assert copy.copy(found) == found
    assert pickle.loads(pickle.dumps(found))[0].as_list() == found[0].as_list()  # noqa: S301
