"""A run that is asked for more later is the run that was asked for all of it at once, and nothing is made twice."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from grown import classifier, contents, run, said, texts

import whylight as wl

A, B, C = "aopc_comprehensiveness", "iou", "entropy"


@pytest.fixture(scope="module")
def clf() -> Any:
    return classifier()


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
        {"control": "best-of=2", "metrics": [A]},
        {"control": "best-of=2", "metrics": [A, "sufficiency"]},
        {"control": "best-of=2", "metrics": [A, "sufficiency", B], "methods": ["kernel_shap", "occlusion"]},
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
    before: dict[Path, bytes] = {}
    for step in STEPS[name]:
        grown = run(clf, tmp_path / "grown", **step)
        there = contents(tmp_path / "grown")
        assert {path: there[path] for path in before} == before  # nothing that was there is touched
        before = there
    whole = run(clf, tmp_path / "whole", **step)
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
        given = {**step, "tune": texts("dev", step["tune"]) if "tune" in step else None}
        grown = run(clf, tmp_path / "grown", **given)
    assert said(grown) == said(run(clf, tmp_path / "whole", **given))
    assert said(wl.open_run(tmp_path / "grown")) == said(wl.open_run(tmp_path / "whole"))


def test_texts_that_come_after_the_question_has_grown_stand_beside_those_from_before(clf: Any, tmp_path: Path) -> None:
    whole, lime = texts(size=6), "lime[samples=20]"
    some = replace(whole, records=whole.records[:3])
    out, both = tmp_path / "run", {"methods": ["occlusion", lime], "metrics": [A]}
    run(clf, out, data=some, metrics=[A])
    run(clf, out, data=some, methods=[lime], metrics=[A])
    run(clf, out, data=whole, metrics=[A])  # the same cells as those of the first call, in the same shard
    assert said(run(clf, out, data=whole, **both)) == said(run(clf, tmp_path / "whole", data=whole, **both))
