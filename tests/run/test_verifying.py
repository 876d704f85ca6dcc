"""What is said of a run before and after: a forecast, and a look at random texts."""

from functools import partial
from pathlib import Path
from typing import Any

import corpus_models
import numpy as np
import pytest
import torch
from test_driving import TEXTS, model, run, written

import tiny
import whylight as wl
from whylight.core.errors import InputError, ModelError
from whylight.data.stream import stream
from whylight.engines.where import Where
from whylight.explaining import receipts as explaining
from whylight.run import one
from whylight.run.estimating import drawn, fitted, forecast
from whylight.run.evaluate import Question
from whylight.run.running import Asked, run_corpus
from whylight.run.verifying import loaded_of, source_of, verify

KINDS: dict[str, Any] = {"methods": ["occlusion", "lime[samples=20]"], "metrics": ["aopc_comprehensiveness"]}


@pytest.fixture
def data(tmp_path: Path) -> str:
    return written(tmp_path / "texts.jsonl")


def test_a_run_that_is_right_is_the_same_to_the_last_bit(data: str, tmp_path: Path) -> None:
    run(data, tmp_path / "run", **KINDS)
    found = verify(tmp_path / "run", lambda _: model(), rows=5)
    assert found.texts == 5
    assert found.rows == found.same == 5 * 3 * 3  # methods with random; explanation, value and curve
    assert found.differing == ()
    assert verify(tmp_path / "run", lambda _: model(), rows=100).texts == 14


def test_other_answers_another_model_and_other_data_are_seen(data: str, tmp_path: Path) -> None:
    run(data, tmp_path / "run", **KINDS)

    def other(texts: list[str]) -> Any:
        return np.asarray(corpus_models.by_length(texts)) ** 2 + [[0.2, 0.0]] * len(texts)

    changed = wl.load(lambda texts: _normed(other(texts)), **corpus_models.LABELS)
    found = verify(tmp_path / "run", lambda _: changed, rows=3)
    assert found.differing
    assert found.largest > 0.001
    renamed = wl.load(corpus_models.by_length, labels=["negative", "positive"], identity="another")
    with pytest.raises(ModelError, match="is not the one of the run"):
        verify(tmp_path / "run", lambda _: renamed)
    others = stream(written(tmp_path / "others.jsonl", ["b", *TEXTS[1:]]), unlabelled=True)
    with pytest.raises(InputError, match="the data has another text at place 0"):
        verify(tmp_path / "run", lambda _: model(), rows=100, data=others)
    with pytest.raises(InputError, match="holds no run of `whylight run`"):
        verify(tmp_path, lambda _: model())


def test_the_model_is_loaded_again_as_it_was(tmp_path: Path) -> None:
    tiny.model("bert", labels=["a", "b", "c"]).save_pretrained(tmp_path / "model")
    tiny.tokenizer("bert").save_pretrained(tmp_path / "model")
    data, out = written(tmp_path / "texts.jsonl", TEXTS[:2]), tmp_path / "run"
    asked: dict[str, Any] = {"methods": ["occlusion"], "load": {"head": "sigmoid", "max_tokens": 12, "device": "cpu"}}
    run_corpus(str(tmp_path / "model"), data, out=out, progress=False, **asked)
    assert loaded_of(out) == {"head": "sigmoid", "max_tokens": 12}
    found = verify(out, lambda name: wl.load(name, **loaded_of(out)))
    assert (found.texts, found.differing) == (2, ())
    with pytest.raises(ModelError, match="is not the one of the run"):
        verify(out, wl.load)


def test_what_is_verified_is_computed_in_one_thread(data: str, tmp_path: Path) -> None:
    seen = set[int]()

    def noting(texts: list[str]) -> Any:
        seen.add(torch.get_num_threads())
        return corpus_models.by_length(texts)

    run(data, tmp_path / "run")
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        verify(tmp_path / "run", lambda _: model(noting), rows=3)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == {1}


def test_a_run_that_evaluate_has_added_to_can_be_verified(data: str, tmp_path: Path) -> None:
    run(data, tmp_path / "run")
    asked: dict[str, Any] = {"methods": ["occlusion"], "metrics": ["aopc_comprehensiveness"], "progress": False}
    wl.evaluate(model(), wl.dataset(data, unlabelled=True), out=tmp_path / "run", **asked)
    with pytest.raises(InputError, match="say where it is: --data"):
        verify(tmp_path / "run", lambda _: model())
    assert verify(tmp_path / "run", lambda _: model(), rows=3, data=source_of(tmp_path / "run", data)).same == 3


def _normed(values: Any) -> Any:
    return values / values.sum(axis=1, keepdims=True)


def test_a_forecast_counts_texts_and_evaluations(data: str, tmp_path: Path) -> None:
    question = Question(methods=["occlusion"], metrics=[], baseline=False)
    asked = Asked(question, stream(data, unlabelled=True), tmp_path / "run", Where(workers=2))
    found = forecast(partial(wl.load, corpus_models.by_length, **corpus_models.LABELS), asked)
    ran = run(data, tmp_path / "run")
    assert found.texts == 14
    assert found.workers == 2
    assert found.evaluations == pytest.approx(ran.rows_run, rel=0.25)
    assert "14 texts: " in str(found)
    assert "with 2 workers" in str(found)


def test_a_forecast_knows_that_files_cost_something_by_themselves(tmp_path: Path) -> None:
    data = written(tmp_path / "texts.jsonl", TEXTS * 40)
    question = Question(methods=["occlusion"], metrics=[], baseline=False)
    for shard in (20, 560):
        asked = Asked(question, stream(data, unlabelled=True), tmp_path / str(shard), shard=shard)
        found = forecast(partial(wl.load, corpus_models.by_length, **corpus_models.LABELS), asked)
        run(data, tmp_path / str(shard), shard=shard)
        there = (tmp_path / str(shard)).rglob("*.parquet")
        assert found.bytes == pytest.approx(sum(path.stat().st_size for path in there), rel=0.3)


def test_a_forecast_works_on_texts_in_the_batches_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, seen = written(tmp_path / "texts.jsonl", [*TEXTS, *TEXTS]), list[int]()
    real = explaining.explain_cases

    def noting(cases: Any, *given: Any) -> Any:
        seen.append(len(cases))
        return real(cases, *given)

    monkeypatch.setattr(one, "explain_cases", noting)
    question = Question(methods=["marc"], metrics=[], baseline=False, settings={"steps": 1})
    asked = Asked(question, stream(data, unlabelled=True), tmp_path / "run")
    clf = tiny.classifier("bert", labels=["negative", "positive"])
    assert forecast(lambda: clf, asked).evaluations == pytest.approx(28, rel=0.1)
    assert seen == [1, *[1] * 3, 3, 16, 12]


def test_costs_are_fitted_to_lengths() -> None:
    lengths, every = np.linspace(10, 500, 20), np.linspace(10, 900, 1000)
    for a, b, c in ((0.1, 0.0, 0.0), (0.0, 0.02, 0.0), (0.5, 0.001, 0.0001)):
        values = a + b * lengths + c * lengths**2
        assert fitted(lengths, values)(every).mean() == pytest.approx((a + b * every + c * every**2).mean(), rel=1e-6)


def test_a_sample_of_a_stream_is_fair() -> None:
    records = list(wl.dataset("planted:", split="test", size=200, length=8))
    sample, count = drawn(iter(records), 50)
    assert (len(sample), count) == (50, 200)
    places = [records.index(one) for one in sample]
    assert len(set(places)) == 50
    assert 60 < np.mean(places) < 140
    assert drawn(iter(records), 500)[0] == records
