"""Faithfulness is measured on the metric model, and what is explained is the other one."""

from pathlib import Path
from typing import Any

import pytest

import tiny
import whylight as wl
from whylight.core.errors import InputError, ModelError, SettingError
from whylight.data.dataset import Dataset, Record

NAMES = ("negative", "positive")
ASKED: dict[str, Any] = {"methods": ["occlusion"], "metrics": ["comprehensiveness", "f_fidelity_plus"]}


@pytest.fixture
def data() -> Dataset:
    texts = ("the film was good but the plot drags", "a dull ending")
    return Dataset("made", "test", NAMES, tuple(Record(one, wl.Text(one), ("positive",)) for one in texts))


@pytest.fixture
def models() -> tuple[Any, Any]:
    return tiny.classifier("bert", labels=list(NAMES)), tiny.classifier("bert", labels=list(NAMES), seed=5)


def test_values_are_those_of_measuring_the_explanation_on_the_other_model(models: Any, data: Dataset) -> None:
    explained, asked = models
    found = wl.evaluate(explained, data, metric_model=asked, **ASKED)
    rows = {(row["example_id"], row["metric"]): row["value"] for row in found.scores if row["method"] == "occlusion"}
    for record in data:
        one = wl.explain(explained, record.example, method="occlusion")
        for metric in ASKED["metrics"]:
            (value,) = wl.measure(asked, one, metric=metric)
            assert rows[record.id, metric] == pytest.approx(value, abs=1e-6)
    plain = wl.evaluate(explained, data, **ASKED)
    both = [[row["scores"] for row in one.explanations] for one in (plain, found)]
    assert both[0] == both[1]
    assert [row["value"] for row in plain.scores] != [row["value"] for row in found.scores]
    assert found.rows_run > plain.rows_run


def test_a_folder_knows_the_metric_model(models: Any, data: Dataset, tmp_path: Path) -> None:
    explained, asked = models
    first = wl.evaluate(explained, data, metric_model=asked, out=tmp_path, **ASKED)
    again = wl.evaluate(explained, data, metric_model=asked, out=tmp_path, **ASKED)
    assert list(first.scores) == list(again.scores)
    other = tiny.classifier("bert", labels=list(NAMES), seed=6)
    for metric_model in (other, None):
        with pytest.raises(InputError, match="another run"):
            wl.evaluate(explained, data, metric_model=metric_model, out=tmp_path, **ASKED)


def test_what_cannot_stand_for_the_explained_model_is_refused(models: Any, data: Dataset, tmp_path: Path) -> None:
    explained, _ = models
    with pytest.raises(SettingError, match="labels positive, negative, the explained one has negative, positive"):
        wl.evaluate(explained, data, metric_model=tiny.classifier("bert", labels=list(NAMES[::-1])), **ASKED)
    rule = wl.load(lambda texts: [[0.5, 0.5] for _ in texts], labels=list(NAMES), mask_string="[MASK]")
    with pytest.raises(ModelError, match="the metric model is a callable"):
        wl.evaluate(explained, data, metric_model=rule, out=tmp_path / "run", **ASKED)
