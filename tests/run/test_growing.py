"""A run that is asked for more later is the run that was asked for all of it at once, and nothing is made twice."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiny
import whylight as wl
from whylight.data.dataset import Dataset
from whylight.run.evaluation import Evaluation

LABELS = ["negative", "positive"]
MEASURED = ("seconds", "rows_run", "peak_megabytes")
A, B, C = "aopc_comprehensiveness", "iou", "entropy"


def decide(texts: list[str]) -> Any:
    """A bag of words that is often wrong, so that texts have two labels to look at: the predicted and the gold one."""
    odds = np.exp([sum(np.sin(len(word) * ord(word[0])) for word in text.split()) for text in texts])
    return np.stack([1 / (1 + odds), odds / (1 + odds)], axis=1)


@pytest.fixture(scope="module")
def clf() -> Any:
    return wl.load(decide, labels=LABELS, identity="decide", mask_string="_")


@pytest.fixture(scope="module")
def bert() -> Any:
    return tiny.classifier("bert", labels=LABELS)


def texts(split: str = "test", size: int = 4) -> Dataset:
    return wl.dataset("planted:", split=split, size=size, length=8)


def plain(rows: Any) -> list[str]:
    """Rows but for what depends on the clock; as text, since what has no value equals nothing."""
    return [repr({name: value for name, value in row.items() if name not in MEASURED}) for row in rows]


def said(found: Evaluation) -> dict[str, Any]:
    """All that a run says, but for what depends on the clock; figures follow from it."""
    tables = {"explanations": found.explanations, "scores": found.scores, "curves": found.curves}
    tables |= {"tuning": found.tuning}
    return {name: plain(rows) for name, rows in tables.items()} | {"asked": found.asked}


def run(classifier: Any, out: Path | None, **asked: Any) -> Evaluation:
    return wl.evaluate(classifier, asked.pop("data", None) or texts(), out=out, progress=False, **asked)


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*.parquet")}


Step = dict[str, Any]
STEPS: dict[str, list[Step]] = {
    "a method": [{"methods": ["occlusion"]}, {"methods": ["lime", "occlusion"], "settings": {"samples": 20}}],
    "methods one by one": [
        {"methods": ["lime[samples=20]"], "metrics": [A, B]},
        {"methods": ["lime[samples=20]", "lime[samples=30]"], "metrics": [A, B]},
        {"methods": ["occlusion", "lime[samples=30]", "lime[samples=20]"], "metrics": [A, B]},
    ],
    "a metric": [{"metrics": [A]}, {"metrics": ["comprehensiveness", A, "iou", C]}],
    "metrics to explanations": [{"metrics": []}, {"metrics": [A, B, C]}],
    "the first that asks the model": [{"metrics": [C]}, {"metrics": [A, C]}],
    "metrics that draw and search": [
        {"metrics": [A]},
        {"metrics": ["f_fidelity_plus", "normalised_aopc_comprehensiveness", A]},
    ],
    "a remover": [{"metrics": [A, B]}, {"metrics": [A, B], "metric_removers": ["delete", "mask"]}],
    "another remover": [
        {"metrics": [A], "metric_removers": ["mask"]},
        {"metrics": [A, C], "metric_removers": ["delete"]},
        {"metrics": [C, A], "metric_removers": ["mask", "delete"]},
    ],
    "all at once": [
        {"metrics": [A]},
        {
            "methods": ["kernel_shap", "occlusion"],
            "metrics": [C, "sufficiency", A],
            "metric_removers": ["mask", "delete"],
        },
    ],
    "a control": [
        {"control": "best-of=3", "metrics": [A]},
        {"control": "best-of=3", "metrics": [A, "sufficiency"]},
        {"control": "best-of=3", "metrics": [A, "sufficiency", B], "methods": ["random", "kernel_shap", "occlusion"]},
    ],
    "zeroed": [
        {"zero_non_alphanumeric": True, "metrics": [A]},
        {"zero_non_alphanumeric": True, "metrics": [A, C], "methods": ["occlusion", "kernel_shap"]},
    ],
    "gold labels": [
        {"options": wl.Options(target="gold"), "metrics": [A]},
        {"options": wl.Options(target="gold"), "metrics": [B, A], "methods": ["occlusion", "kernel_shap"]},
    ],
    "a corpus metric": [{"metrics": [B]}, {"metrics": [B, "corpus_auprc"]}],
    "settings of both": [
        {"settings": {f"{A}.steps": 4}, "metrics": [A]},
        {"settings": {f"{A}.steps": 4, "lime.samples": 20}, "metrics": [A], "methods": ["occlusion", "lime"]},
    ],
    "seeds": [
        {"settings": {"seed": 3}, "metrics": [A]},
        {"settings": {"seed": 3, "samples": 20}, "metrics": [A], "methods": ["lime", "occlusion", "kernel_shap"]},
    ],
}


@pytest.mark.parametrize("name", STEPS)
def test_a_run_that_grew_is_the_run_that_asked_at_once(name: str, clf: Any, tmp_path: Path) -> None:
    steps = [{"methods": ["occlusion"], **step} for step in STEPS[name]]
    before: dict[Path, bytes] = {}
    for step in steps:
        grown = run(clf, tmp_path / "grown", **step)
        there = contents(tmp_path / "grown")
        assert {path: there[path] for path in before} == before  # nothing that was there is touched
        before = there
    whole = run(clf, tmp_path / "whole", **steps[-1])
    assert said(grown) == said(whole)
    assert said(wl.open_run(tmp_path / "grown")) == said(wl.open_run(tmp_path / "whole"))


TUNED: dict[str, list[Step]] = {
    "tuning texts": [{"metrics": [B]}, {"metrics": [B, "token_f1"], "tune": 4}],
    "a tuned method": [
        {"metrics": ["token_f1"], "tune": 4},
        {"metrics": ["token_f1"], "methods": ["kernel_shap", "occlusion"], "tune": 4},
    ],
    "another scale": [
        {"metrics": ["token_f1"], "tune": 4},
        {"metrics": ["token_f1", "micro_f1"], "tune": 4, "settings": {"micro_f1.sign": "absolute"}},
    ],
}


@pytest.mark.parametrize("name", TUNED)
def test_boundaries_of_what_is_added_are_tuned_on_the_same_texts(name: str, clf: Any, tmp_path: Path) -> None:
    for step in TUNED[name]:
        given = {"methods": ["occlusion"], **step, "tune": texts("dev", step["tune"]) if "tune" in step else None}
        grown = run(clf, tmp_path / "grown", **given)
    assert said(grown) == said(run(clf, tmp_path / "whole", **given))
    assert said(wl.open_run(tmp_path / "grown")) == said(wl.open_run(tmp_path / "whole"))
