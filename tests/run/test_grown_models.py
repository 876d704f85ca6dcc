"""A run on a transformer that is asked for more later: equal but for rounding, since other rows share its batches."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grown import LABELS, run, texts

import masked
import tiny
import whylight as wl
from whylight.core.errors import InputError
from whylight.explaining import explain as explaining
from whylight.models.quiet import quiet
from whylight.run import shards as evaluating
from whylight.run.evaluation import Evaluation
from whylight.run.games import only

A, B = "aopc_comprehensiveness", "comprehensiveness"
INFILL = {"infill.model": masked.folder(), "infill.mode": "top1"}


@pytest.fixture(scope="module")
def bert() -> Any:
    return tiny.classifier("bert", labels=LABELS)


def near(grown: Evaluation, whole: Evaluation) -> bool:
    """Say whether two runs have the same rows in the same order, with the same numbers but for rounding."""
    keys = ("run", "example_id", "method", "target", "correct", "metric", "settings", "remover", "notes", "shares")
    tables = [(one.explanations, one.scores, one.curves) for one in (grown, whole)]
    for mine, theirs in zip(*tables, strict=True):
        assert [[row.get(key) for key in keys] for row in mine] == [[row.get(key) for key in keys] for row in theirs]
        for own, other in zip(mine, theirs, strict=True):
            for name in ("scores", "value", "without_top", "top_alone", "completeness_gap"):
                if own.get(name) is not None:
                    np.testing.assert_allclose(own[name], other[name], rtol=0, atol=1e-5)
    return grown.asked == whole.asked


STEPS: dict[str, list[dict[str, Any]]] = {
    "layers": [
        {"methods": ["attention"], "settings": {"layer": "all"}, "metrics": [A]},
        {"methods": ["alti", "attention"], "settings": {"layer": "all"}, "metrics": [A, "entropy"]},
    ],
    "a layer and all": [
        {"methods": ["attention"], "metrics": [A]},
        {"methods": ["attention", "attention[layer=all]"], "metrics": [A]},
    ],
    "removers of their own": [
        {"metrics": [A]},
        {
            "methods": ["occlusion", "occlusion[remover=delete]", "occlusion[remover=infill]"],
            "metrics": [A],
            "metric_removers": ["mask", "infill"],
            "settings": INFILL,
        },
    ],
}


@pytest.mark.parametrize("name", STEPS)
def test_a_run_that_grew_is_the_run_that_asked_at_once(name: str, bert: Any, tmp_path: Path) -> None:
    for step in STEPS[name]:
        grown = run(bert, tmp_path / "grown", data=texts(size=2), **step)
    assert near(grown, run(bert, tmp_path / "whole", data=texts(size=2), **step))


def test_faithfulness_of_what_is_added_is_measured_on_the_metric_model(bert: Any, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"data": texts(size=2), "metric_model": tiny.classifier("bert", labels=LABELS, seed=5)}
    run(bert, tmp_path / "grown", **asked, metrics=[A])
    more = {"methods": ["input_x_gradient", "occlusion"], "metrics": [A, B]}
    assert near(run(bert, tmp_path / "grown", **asked, **more), run(bert, tmp_path / "whole", **asked, **more))


def test_methods_that_take_several_texts_get_the_same_blocks_when_they_are_added(
    bert: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explaining, "TOGETHER", 3)
    first: dict[str, Any] = {"metrics": [A], "methods": ["occlusion"]}
    more: dict[str, Any] = {"metrics": [A, B], "methods": ["marc", "occlusion"], "settings": {"marc.steps": 4}}
    run(bert, tmp_path / "grown", **first)
    real, done = evaluating.work_together, list[None]()

    def stopping(*given: Any, **options: Any) -> Any:
        for one in real(*given, **options):
            if len(done) == 1:  # within a block
                done.append(None)
                raise KeyboardInterrupt
            done.append(None)
            yield one

    monkeypatch.setattr(evaluating, "work_together", stopping)
    with pytest.raises(KeyboardInterrupt):
        run(bert, tmp_path / "grown", **more)
    grown, whole = (run(bert, tmp_path / name, **more) for name in ("grown", "whole"))
    assert near(grown, whole)
    scores = [[row["scores"] for row in one.explanations if row["method"] == "marc"] for one in (grown, whole)]
    assert scores[0] == scores[1]  # to the last digit


def test_a_masked_language_model_that_changed_is_refused(bert: Any, tmp_path: Path) -> None:
    place, out = masked.saved(tmp_path / "masked"), tmp_path / "run"
    asked: dict[str, Any] = {"data": texts(size=2), "methods": [], "metrics": [A]}
    filled = {"metric_removers": ["infill"], "settings": {**INFILL, "infill.model": str(place)}}
    run(bert, out, **asked)
    run(bert, out, **asked, **filled)
    with quiet():
        masked.network(seed=4).save_pretrained(place)
    again = tiny.classifier("bert", labels=LABELS)  # one that has not read it yet
    with pytest.raises(InputError, match="differing in infill weights; name another folder"):
        run(again, out, **asked, **filled)
    assert {row["remover"] for row in run(bert, out, **asked).scores} == {"mask"}


def test_each_label_of_a_text_has_its_own_gap(bert: Any) -> None:
    whole = wl.explain(bert, "a good film", method="ig", target="all", steps=3)
    gaps = [only(whole, target).provenance.completeness_gap for target in whole.targets]
    assert gaps == [(gap,) for gap in whole.provenance.completeness_gap]
    assert gaps[0] != gaps[1]
