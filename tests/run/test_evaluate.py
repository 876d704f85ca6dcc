"""A corpus run: the right targets, one honest table, tables on disk that survive being stopped."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import whylight as wl
from whylight.cli.main import run as command_line
from whylight.core.errors import InputError, SettingError
from whylight.data.dataset import Dataset
from whylight.data.planted import CLASSES
from whylight.report import run_page
from whylight.run import book, shards as module
from whylight.run.summary import interval

METRICS = ("aopc_comprehensiveness", "aopc_sufficiency", "average_precision", "iou", "entropy")
TRIGGERS = {word: column for column, name in enumerate(("negative", "positive")) for word in CLASSES[name]}


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


def cells(found: Any, metric: str) -> dict[str, float]:
    return {line.method: line.cells[metric].mean for line in found.summary.lines if metric in line.cells}


def test_the_planted_reason_is_found_and_random_and_human_stand_beside(classifier: Any, data: Dataset) -> None:
    found = wl.evaluate(classifier, data, methods=["occlusion", "kernel_shap"], metrics=METRICS)
    assert [line.method for line in found.summary.lines] == ["occlusion", "kernel_shap", "random", "human"]
    iou = cells(found, "iou")
    assert iou["occlusion"] == iou["kernel_shap"] == iou["human"] == 1.0
    assert iou["random"] < 0.7
    comprehensiveness = cells(found, "aopc_comprehensiveness")
    assert comprehensiveness["occlusion"] > comprehensiveness["random"]
    assert comprehensiveness["occlusion"] == pytest.approx(comprehensiveness["human"])


def test_without_metrics_texts_are_explained_and_nothing_is_measured(classifier: Any, data: Dataset) -> None:
    found = wl.evaluate(classifier, data, methods=["occlusion"], metrics=[])
    assert {row["method"] for row in found.explanations} == {"occlusion", "random", "human"}
    assert (found.scores, found.curves, found.summary.metrics) == ([], [], ())


def test_methods_and_metrics_of_a_record_run_every_distinct_text_once(data: Dataset, tmp_path: Path) -> None:
    asked: list[str] = []

    def noting(texts: list[str]) -> Any:
        asked.extend(texts)
        return decide(texts)

    counting = wl.load(noting, labels=["negative", "positive"], identity="noting")
    one = data.sample(1, seed=0)
    wl.evaluate(counting, one, methods=["occlusion", "kernel_shap"], metrics=METRICS, out=tmp_path / "run")
    assert asked[0] == asked[1]  # the untouched text, twice, to see whether the answer is the same
    assert len(asked) == len(set(asked)) + 1
    assert pq.read_table(tmp_path / "run" / "timings").to_pylist()[0]["rows_run"] == len(set(asked))


def test_tables_hold_every_explanation_and_score(classifier: Any, data: Dataset, tmp_path: Path) -> None:
    wl.evaluate(classifier, data, methods=["occlusion"], metrics=METRICS, out=tmp_path)
    explanations = pq.read_table(tmp_path / "explanations").to_pylist()
    scores = pq.read_table(tmp_path / "scores").to_pylist()
    assert len(explanations) == len(data) * 3
    assert len(scores) == len(explanations) * len(METRICS)
    for row in explanations:
        assert len(row["places"]) == len(row["scores"]) == 10
        assert row["correct"] is True
    assert {row["remover"] for row in scores if row["metric"].startswith("aopc")} == {"delete"}
    random = [tuple(np.argsort(row["scores"])) for row in explanations if row["method"] == "random"]
    assert len(set(random)) == len(data)  # texts of the same length do not share one random ranking
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_stopped_run_goes_on_and_gives_the_same(
    classifier: Any, data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = wl.evaluate(classifier, data, methods=["occlusion", "lime"], metrics=METRICS, out=tmp_path / "whole")
    real, seen = module.work_together, []

    def failing(*arguments: Any, **options: Any) -> Any:
        seen.append(arguments)
        if len(seen) == 4:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(book, "WRITE_EVERY", 0.0)
    monkeypatch.setattr(module, "work_together", failing)
    question = {"methods": ["occlusion", "lime"], "metrics": METRICS, "out": tmp_path / "part"}
    with pytest.raises(KeyboardInterrupt):
        wl.evaluate(classifier, data, **question)
    assert len(pq.read_table(tmp_path / "part" / "explanations")) == 3 * 4
    again = wl.evaluate(classifier, data, **question)
    assert len(seen) == 4 + 5
    for one, other in zip(whole.summary.lines, again.summary.lines, strict=True):
        assert one.cells == other.cells


def test_metrics_can_be_taken_under_several_removers(data: Dataset, tmp_path: Path) -> None:
    classifier = wl.load(decide, labels=["negative", "positive"], mask_string="garden", identity="decide-1")
    found = wl.evaluate(
        classifier,
        data,
        methods=["occlusion"],
        metrics=["comprehensiveness", "iou"],
        metric_removers=["delete", "mask"],
        out=tmp_path,
    )
    assert found.summary.metrics == ("comprehensiveness (delete)", "comprehensiveness (mask)", "iou")
    rows = pq.read_table(tmp_path / "scores").to_pylist()
    assert {row["remover"] for row in rows if row["metric"] == "comprehensiveness"} == {"delete", "mask"}


def test_parts_know_whose_they_are(classifier: Any, data: Dataset, tmp_path: Path) -> None:
    wl.evaluate(classifier, data, methods=["occlusion"], metrics=["iou"], out=tmp_path)
    (tmp_path / "manifest.json").unlink()  # nobody can tell which settings there are
    with pytest.raises(InputError, match="holds another run"):
        wl.evaluate(classifier, data, methods=["lime"], metrics=["iou"], out=tmp_path)


def test_boundaries_are_tuned_on_other_texts(classifier: Any, data: Dataset) -> None:
    tune = wl.dataset("planted:", split="dev", size=6, length=10)
    found = wl.evaluate(classifier, data, methods=["occlusion"], metrics=["token_f1"], tune=tune)
    assert cells(found, "token_f1")["occlusion"] == 1.0
    with pytest.raises(SettingError, match="--tune"):
        wl.evaluate(classifier, data, methods=["occlusion"], metrics=["token_f1"])
    with pytest.raises(InputError, match="disjoint"):
        wl.evaluate(classifier, data, methods=["occlusion"], metrics=["token_f1"], tune=data)


def test_curves_run_from_the_untouched_to_the_empty_text_and_cost_nothing(data: Dataset, tmp_path: Path) -> None:
    classifier = wl.load(decide, labels=["negative", "positive"], identity="decide-1")
    question = {"methods": ["occlusion"], "metrics": ["aopc_comprehensiveness", "aopc_sufficiency"]}
    found = wl.evaluate(classifier, data, **question, out=tmp_path)
    assert len(found.curves) == len(data) * 3
    for row in found.curves:
        assert row["shares"] == [0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0]
        assert row["without_top"][0] == row["top_alone"][-1] > row["without_top"][-1] == row["top_alone"][0]
    drops = [row["without_top"][0] - np.mean(row["without_top"][1:-1]) for row in found.curves]
    scores = [row["value"] for row in found.scores if row["metric"] == "aopc_comprehensiveness"]
    assert drops == pytest.approx(scores)
    texts = [row["text"].split() for row in found.explanations if row["method"] == "human"]
    most = sum(2 + len(words) + 3 * 2 * 5 for words in texts)  # untouched, empty, each word, three rankings
    assert found.rows_run <= most
    assert pq.read_table(tmp_path / "curves").to_pylist() == found.curves


def test_signs_lose_their_score_in_the_control(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"text": "gripping , moving !", "label": "positive"}\n', encoding="utf-8")
    clf = wl.load(decide, labels=["negative", "positive"])
    data = wl.dataset(str(path))
    plain = wl.evaluate(clf, data, methods=["random"], metrics=["entropy"])
    control = wl.evaluate(clf, data, methods=["random"], metrics=["entropy"], zero_non_alphanumeric=True)
    (before,), (after,) = ([r["scores"] for r in one.explanations] for one in (plain, control))
    assert after == [before[0], 0.0, before[2], 0.0]
    assert "letter or digit" in control.explanations[0]["notes"][0]


def test_a_stopped_tuning_goes_on(classifier: Any, data: Dataset, tmp_path: Path, monkeypatch: Any) -> None:
    tune = wl.dataset("planted:", split="dev", size=6, length=10)
    real, seen = module.work_together, []

    def failing(*arguments: Any, **options: Any) -> Any:
        seen.append(arguments)
        if len(seen) == 4:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(book, "WRITE_EVERY", 0.0)
    monkeypatch.setattr(module, "work_together", failing)
    question = {"methods": ["lime"], "metrics": ["token_f1"], "tune": tune, "out": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        wl.evaluate(classifier, data, **question)
    again = wl.evaluate(classifier, data, **question)
    assert len(seen) == 4 + 3 + len(data)
    assert again.corpus is not None
    assert again.corpus.lines[0].cells["micro_f1"].mean == 1.0


def test_right_and_wrong_predictions_have_tables_of_their_own(data: Dataset) -> None:
    contrary = wl.load(lambda texts: decide(texts)[:, ::-1], labels=["negative", "positive"])
    found = wl.evaluate(contrary, data, methods=["occlusion"], metrics=["aopc_comprehensiveness"])
    assert found.subset(correct=True) is None
    wrong = found.subset(correct=False)
    assert wrong is not None
    assert wrong.lines[0].cells == found.summary.lines[0].cells
    assert {record["subset"] for record in found.records()} == {"all", "wrong", "all words"}


def test_what_does_not_fit_is_refused_before_the_work(data: Dataset) -> None:
    stranger = wl.load(decide, labels=["cat", "dog"])
    with pytest.raises(InputError, match="cat, dog"):
        wl.evaluate(stranger, data, methods=["occlusion"], metrics=["iou"])
    bare = Dataset("bare", "test", data.label_names, tuple(type(r)(r.id, r.example, r.labels) for r in data))
    clf = wl.load(decide, labels=["negative", "positive"])
    with pytest.raises(InputError, match="needs rationales"):
        wl.evaluate(clf, bare, methods=["occlusion"], metrics=["iou"])
    with pytest.raises(SettingError, match="two explanations"):
        wl.evaluate(clf, data, methods=["occlusion"], metrics=["kendall_tau"])
    names = [line.method for line in wl.evaluate(clf, bare, methods=["occlusion"]).summary.lines]
    assert names == ["occlusion", "random"]


def test_an_interval_holds_its_mean_and_narrows_with_more_texts() -> None:
    generator = np.random.default_rng(0)
    few, many = interval(generator.normal(size=20)), interval(generator.normal(size=2000))
    for cell in (few, many):
        assert cell.low < cell.mean < cell.high
    assert many.high - many.low < 0.2 * (few.high - few.low)
    assert many.high - many.low == pytest.approx(2 * 1.96 / np.sqrt(2000), rel=0.1)


def test_the_command_line_prints_the_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    data = tmp_path / "data.jsonl"
    lines = [
        {"text": "a gripping film", "label": "positive", "rationale": [[2, 10]]},
        {"text": "a dull film", "label": "negative", "rationale": [[2, 6]]},
    ]
    data.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    arguments = ["evaluate", "--data", str(data), "--method", "input_x_gradient", "--metric", "iou", "--format", "json"]
    monkeypatch.setattr(sys, "argv", ["whylight", *arguments])
    with pytest.raises(SystemExit) as stopped:
        command_line()
    out = capsys.readouterr().out
    assert not stopped.value.code
    rows = [json.loads(line) for line in out.splitlines()]
    assert {row["method"] for row in rows} == {"input_x_gradient", "random", "human"}
    assert all(row["low"] <= row["mean"] <= row["high"] for row in rows)


def test_texts_of_one_class_are_measured_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    data = tmp_path / "data.jsonl"
    line = {"label": "positive", "rationale": [[2, 6]]}
    rows = [{"text": text, **line} for text in ("a good film", "a fine film")]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    arguments = ["evaluate", "--data", str(data), "--method", "input_x_gradient", "--metric", "iou"]
    monkeypatch.setattr(sys, "argv", ["whylight", *arguments])
    with pytest.raises(SystemExit) as stopped:
        command_line()
    said = capsys.readouterr()
    assert not stopped.value.code
    assert "all 2 texts have the label 'positive'" in said.err
    assert "distinct inputs" in said.out


def test_the_report_of_a_run_keeps_removers_apart(data: Dataset, tmp_path: Path) -> None:
    classifier = wl.load(decide, labels=["negative", "positive"], mask_string="garden", identity="decide-1")
    wl.evaluate(
        classifier,
        data,
        methods=["occlusion", "lime"],
        metrics=["comprehensiveness"],
        metric_removers=["delete", "mask"],
        out=tmp_path,
    )
    page = run_page.run_page(tmp_path)
    assert "comprehensiveness (delete)" in page
    assert "comprehensiveness (mask)" in page
