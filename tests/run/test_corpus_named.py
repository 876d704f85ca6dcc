"""Metrics over all words by name: from Python and the command line, through folder, report and several models."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whylight as wl
from whylight.core.arrays import Floats
from whylight.core.errors import InputError, SettingError
from whylight.core.marked import MarkedCorpus, MarkedPair
from whylight.core.registry import METRICS, metric
from whylight.data.dataset import Dataset
from whylight.data.planted import CLASSES
from whylight.report import run_page
from whylight.run.evaluate import Question
from whylight.study.several import evaluate_several

TRIGGERS = {word: column for column, name in enumerate(("negative", "positive")) for word in CLASSES[name]}
TUNED = {
    "micro_precision": "a boundary tuned on other data",
    "micro_recall": "a boundary tuned on other data",
    "micro_f1": "a boundary tuned on other data",
    "f1_of_means": "a boundary tuned on other data",
    "kernel_regression_f1": "other data to learn from",
    "kernel_regression_iou_f1": "other data to learn from",
}


def decide(texts: list[str]) -> Any:
    """A classifier that looks at the planted words alone."""
    worth = np.zeros((len(texts), 2))
    for row, text in zip(worth, texts, strict=True):
        for word in text.split():
            if word in TRIGGERS:
                row[TRIGGERS[word]] += 4.0
    odds = np.exp(worth)
    return odds / odds.sum(axis=1, keepdims=True)


@pytest.fixture
def classifier() -> Any:
    return wl.load(decide, labels=["negative", "positive"], identity="decide-1")


@pytest.fixture
def data() -> Dataset:
    return wl.dataset("planted:", split="test", size=8, length=10)


@pytest.fixture
def tune() -> Dataset:
    return wl.dataset("planted:", split="dev", size=6, length=10)


def test_named_metrics_are_the_table_over_all_words_and_no_rows_of_scores(
    classifier: Any, data: Dataset, tune: Dataset, tmp_path: Path
) -> None:
    question = {"methods": ["occlusion"], "metrics": ["micro_f1", "corpus_auprc"], "tune": tune, "out": tmp_path}
    settings = {"corpus_auprc.published": True}
    found = wl.evaluate(classifier, data, **question, settings=settings)
    assert found.scores == found.curves == []
    assert found.corpus is not None
    assert found.corpus.metrics == ("corpus_auprc", "micro_f1")
    cells = {line.method: line.cells for line in found.corpus.lines}
    assert cells["occlusion"]["micro_f1"].mean == cells["human"]["micro_f1"].mean == 1.0
    assert cells["random"]["micro_f1"].mean < 0.9
    assert found.asked["metrics"] == {
        "corpus_auprc": {"published": True, "scale": "sum", "sign": "positive"},
        "micro_f1": {"boundary": None, "scale": "sum", "sign": "positive"},
    }
    assert {record["metric"] for record in found.records()} == {"corpus_auprc", "micro_f1"}
    again = wl.evaluate(classifier, data, **question, settings=settings)  # all of it from the folder
    assert again.corpus == found.corpus
    with pytest.raises(InputError, match=r"settings \(corpus_auprc\.published\); name another folder\.$"):
        wl.evaluate(classifier, data, **question)


def test_without_a_name_the_usual_ones_are_measured_and_are_no_part_of_the_question(
    classifier: Any, data: Dataset, tune: Dataset
) -> None:
    found = wl.evaluate(classifier, data, methods=["occlusion"], metrics=["iou"], tune=tune)
    assert found.asked["metrics"] == {"iou": METRICS["iou"].complete_settings({})}
    assert found.corpus is not None
    assert found.corpus.metrics == (
        "micro_precision",
        "micro_recall",
        "micro_f1",
        "corpus_auprc",
        "corpus_average_precision",
        "kernel_regression_f1",
    )


@pytest.mark.parametrize("name", TUNED)
def test_who_needs_tuning_texts_says_so_before_any_work(data: Dataset, name: str) -> None:
    def untouched(texts: list[str]) -> Any:
        raise AssertionError(f"{len(texts)} texts were classified")

    classifier = wl.load(untouched, labels=["negative", "positive"])
    with pytest.raises(SettingError, match=rf"the metric '{name}' needs {TUNED[name]}: pass --tune SPLIT\."):
        wl.evaluate(classifier, data, methods=["random"], metrics=[name])
    unmarked = replace(data, records=tuple(replace(record, rationales={}) for record in data))
    with pytest.raises(InputError, match=f"the metric '{name}' needs rationales"):
        wl.evaluate(classifier, unmarked, methods=["random"], metrics=[name])


def test_one_text_cannot_be_left_out_of_itself(data: Dataset) -> None:
    def untouched(texts: list[str]) -> Any:
        raise AssertionError(f"{len(texts)} texts were classified")

    classifier = wl.load(untouched, labels=["negative", "positive"])
    for name in ("kernel_regression_f1", "kernel_regression_iou_f1"):
        with pytest.raises(SettingError, match="too few documents with a rationale to learn shares from"):
            wl.evaluate(
                classifier,
                data.sample(1, seed=0),
                methods=["random"],
                metrics=[name],
                settings={"leave_one_out": True},
            )


def test_a_boundary_or_leaving_one_out_needs_no_tuning_texts(classifier: Any, data: Dataset) -> None:
    found = wl.evaluate(
        classifier,
        data,
        methods=["occlusion"],
        metrics=["micro_f1", "kernel_regression_f1", "kernel_regression_iou_f1"],
        settings={"boundary": 0.2, "leave_one_out": True},
    )
    assert found.corpus is not None
    assert found.corpus.lines[0].cells["micro_f1"].mean == 1.0
    assert set(found.corpus.lines[0].cells) == {"micro_f1", "kernel_regression_f1", "kernel_regression_iou_f1"}


def test_the_boundary_of_one_text_is_tuned_as_its_scores_are_scaled(
    classifier: Any, data: Dataset, tune: Dataset
) -> None:
    """By the maximum the highest score is 1: a boundary tuned on shares of the sum would let nearly all pass."""
    ask = partial(wl.evaluate, classifier, data, methods=["lime"], metrics=["token_f1", "micro_f1"], tune=tune)
    boundaries = {}
    for scale in ("sum", "max"):
        found = ask(settings={"scale": scale})
        rows = [json.loads(row["settings"]) for row in found.scores if row["method"] == "lime"]
        (boundaries[scale],) = {row["boundary"] for row in rows}
        assert found.corpus is not None
        by_text = found.summary.lines[0].cells["token_f1"].mean
        assert by_text == found.corpus.lines[0].cells["micro_f1"].mean == 1.0
    assert boundaries["sum"] < boundaries["max"] <= 1.0


def test_the_report_shows_named_metrics_with_their_settings(
    classifier: Any, data: Dataset, tune: Dataset, tmp_path: Path
) -> None:
    question = {"methods": ["occlusion", "lime"], "tune": tune, "settings": {"f1_of_means.scale": "max"}}
    wl.evaluate(classifier, data, **question, metrics=["f1_of_means"], out=tmp_path / "alone")
    wl.evaluate(classifier, data, **question, metrics=["f1_of_means", "iou"], out=tmp_path / "both")
    for name in ("alone", "both"):
        html = run_page.run_page(tmp_path / name)
        assert "All words together" in html
        assert "F1 of the mean precision and the mean recall" in html
        assert "<dt>scale</dt><dd><bdi>max</bdi></dd>" in html
        assert "micro_" not in html
        assert ("Best and worst texts" in html) == (name == "both")


def test_comparing_text_by_text_needs_scores_of_texts(classifier: Any, data: Dataset, tmp_path: Path, cli: Any) -> None:
    wl.evaluate(classifier, data, methods=["occlusion"], metrics=["corpus_auprc"], out=tmp_path)
    code, _, said = cli("compare", str(tmp_path), "--method", "occlusion", "--against", "random")
    assert code == 2
    assert "no run with scores of single inputs to compare" in " ".join(said.split())


def test_several_models_have_a_spread_of_named_metrics(classifier: Any, data: Dataset, tune: Dataset) -> None:
    question = Question(methods=["lime"], metrics=["micro_f1", "iou"], tune=tune)
    found = evaluate_several({"one": lambda: classifier}, data, question, seeds=2, progress=False)
    assert found.metrics == ("iou", "micro_f1")
    assert found.spread["lime"]["micro_f1"].variants == 2
    plain = evaluate_several({"one": lambda: classifier}, data, Question(methods=["lime"], metrics=["iou"]), seeds=2)
    assert plain.metrics == ("iou",)


def test_one_explanation_is_no_corpus(classifier: Any) -> None:
    made = wl.explain(classifier, "a gripping film", method="occlusion")
    with pytest.raises(SettingError, match="one of all texts together"):
        wl.measure(classifier, made, metric="micro_f1")


@pytest.fixture
def _own_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    METRICS.names()  # all are found before the copy is made
    monkeypatch.setattr(METRICS, "_specs", dict(METRICS._specs))


@pytest.mark.usefixtures("_own_metrics")
def test_a_new_metric_of_pairs_is_one_function(classifier: Any, data: Dataset, tmp_path: Path) -> None:
    @metric(cite="nobody2026", higher_is_better=False, resamples=200)
    def missed_pairs(corpus: MarkedCorpus, *, places: int = 1) -> Floats:
        """Measure the share of pairs without a gold word among the first places."""

        def missed(pairs: Sequence[MarkedPair]) -> float:
            return float(np.mean([not one.gold[np.argsort(-one.scores)[:places]].any() for one in pairs]))

        return corpus.for_each_draw(missed)

    names = {"methods": ["occlusion"], "metrics": ["missed_pairs"]}
    found = wl.evaluate(classifier, data, **names, settings={"places": 2}, out=tmp_path)
    assert found.corpus is not None
    assert found.corpus.higher_is_better == {"missed_pairs": False}
    lines = {line.method: line.cells["missed_pairs"] for line in found.corpus.lines}
    assert (lines["occlusion"].mean, lines["human"].mean) == (0.0, 0.0)
    assert lines["random"].low <= lines["random"].mean <= lines["random"].high
    assert lines["random"].low < lines["random"].high
    assert "<dt>places</dt><dd><bdi>2</bdi></dd>" in run_page.run_page(tmp_path)


def test_the_command_line_takes_them_by_name_with_settings(cli: Any) -> None:
    asked = ("evaluate", "--data", "planted:", "--sample", "6", "--method", "saliency", "--metric", "corpus_auprc")
    more = ("--metric", "micro_f1", "--tune", "dev", "--tune-sample", "4", "--format", "json")
    figures = []
    for settings in ((), ("--set", "corpus_auprc.published=true")):
        code, out, _ = cli(*asked, *more, *settings)
        assert not code
        rows = [json.loads(line) for line in out.splitlines()]
        assert {row["subset"] for row in rows} == {"all words"}
        assert {row["metric"] for row in rows} == {"corpus_auprc", "micro_f1"}
        figures.append({(row["method"], row["metric"]): row["mean"] for row in rows})
    assert figures[0]["saliency", "micro_f1"] == figures[1]["saliency", "micro_f1"]
    assert figures[0]["saliency", "corpus_auprc"] != figures[1]["saliency", "corpus_auprc"]
    code, out, _ = cli(*asked)
    assert not code
    assert "words together" in out
    assert "corpus_auprc ↑" in out
    code, _, said = cli(*asked[:-1], "micro_f1")
    assert code == 2
    assert "needs a boundary tuned on other data: pass --tune SPLIT." in " ".join(said.split())


def test_the_list_says_what_they_need(monkeypatch: pytest.MonkeyPatch, cli: Any) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    _, out, _ = cli("metrics")
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "rationales of all texts, tuning texts" in lines["micro_f1"]
    assert "rationales of all texts " in lines["corpus_auprc"]
    assert "tuning" not in lines["corpus_auprc"]
    assert "tuning" not in lines["token_f1"]
