"""Several models and seeds: spread of means, and agreement of explanations."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whylight as wl
from run_rows import explanation_row, score_row
from whylight.core.errors import InputError, SettingError
from whylight.data.dataset import Dataset
from whylight.data.planted import CLASSES
from whylight.run.agreement import agreement_of, mean_agreement
from whylight.run.evaluate import Question
from whylight.run.evaluation import Evaluation
from whylight.study.several import evaluate_several, model_names, summarise_several


def decide(texts: list[str], *, strength: float = 3.0) -> Any:
    words = [set(text.split()) for text in texts]
    scores = np.asarray([[sum(w in CLASSES[n] for w in own) for n in ("negative", "positive")] for own in words])
    odds = np.exp(strength * (scores[:, 1] - scores[:, 0]))
    return np.stack([1 / (1 + odds), odds / (1 + odds)], axis=1)


@pytest.fixture
def data() -> Dataset:
    return wl.dataset("planted:", split="test", size=6, length=8)


def models(*strengths: float) -> dict[str, Any]:
    names = ["negative", "positive"]
    own = {f"m{s:g}": partial(decide, strength=s) for s in strengths}
    return {name: partial(wl.load, function, labels=names, identity=name) for name, function in own.items()}


def test_seeds_change_what_draws_at_random_and_nothing_else(data: Dataset, tmp_path: Path) -> None:
    question = Question(methods=["occlusion", "lime"], metrics=["aopc_comprehensiveness"], settings={"samples": 12})
    found = evaluate_several(models(3), data, question, seeds=3, out=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"m3-seed{i}" for i in range(3)]
    assert found.spread["occlusion"]["aopc_comprehensiveness"].deviation == 0
    assert found.spread["random"]["aopc_comprehensiveness"].deviation > 0
    assert found.stability["occlusion"]["kendall_tau"].mean == pytest.approx(1.0)
    assert 0 < found.stability["lime"]["kendall_tau"].mean < 1
    assert "random" not in found.stability
    again = evaluate_several(models(3), data, question, seeds=3, out=tmp_path)
    assert again.spread == found.spread


def test_models_are_compared_under_different_seeds(data: Dataset) -> None:
    question = Question(methods=["lime"], metrics=["aopc_comprehensiveness"], settings={"samples": 12})
    twins = {"one": models(3)["m3"], "two": models(3)["m3"]}
    found = evaluate_several(twins, data, question)
    assert list(found.evaluations) == ["one-seed0", "two-seed1"]
    assert found.stability["lime"]["kendall_tau"].mean < 1
    records = found.records()
    assert {record["metric"] for record in records} >= {"aopc_comprehensiveness", "stability: kendall_tau"}
    assert len({tuple(record) for record in records}) == 1


def test_mean_and_deviation_are_over_variants() -> None:
    def one(value: float) -> Evaluation:
        return Evaluation([explanation_row("a", "lime", [1.0, 2.0])], [score_row("a", "lime", value)])

    found = summarise_several({"x": one(0.2), "y": one(0.4), "z": one(0.9)})
    spread = found.spread["lime"]["aopc_comprehensiveness"]
    assert spread.mean == pytest.approx(0.5)
    assert spread.deviation == pytest.approx(np.std([0.2, 0.4, 0.9], ddof=1))
    assert spread.variants == 3


def test_agreement_pairs_rows_of_the_same_text_label_and_words() -> None:
    first = [explanation_row("a", "lime", [1.0, 2.0, 3.0]), explanation_row("b", "lime", [1.0, 2.0, 3.0])]
    second = [explanation_row("a", "occlusion", [3.0, 2.0, 1.0]), explanation_row("c", "occlusion", [1.0, 2.0, 3.0])]
    found = agreement_of(first, second, "lime", "occlusion")
    assert list(found) == ["a"]
    assert found["a"]["kendall_tau"] == found["a"]["spearman"] == pytest.approx(-1.0)
    assert found["a"]["top_k_overlap"] == 1.0
    assert mean_agreement(found)["kendall_tau"].texts == 1


def test_one_variant_is_refused_and_names_are_told_apart(data: Dataset) -> None:
    with pytest.raises(InputError, match="no spread"):
        evaluate_several(models(3), data, Question(methods=["occlusion"]))
    assert model_names(["runs/a", "runs/b"]) == ["a", "b"]
    assert model_names(["x/model", "y/model", "z"]) == ["model-0", "model-1", "z"]


def test_a_seed_in_the_name_of_a_method_is_refused(data: Dataset) -> None:
    with pytest.raises(SettingError, match=r"which 'lime\[seed=3\]' would undo"):
        evaluate_several(models(3), data, Question(methods=["lime[seed=3]"]), seeds=2)
