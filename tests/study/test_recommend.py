"""A recommendation says what the budget could tell, and no more."""

from typing import Any

import numpy as np
import pytest

import whylight as wl
from whylight.core.errors import InputError, SettingError
from whylight.core.text import Text
from whylight.data.dataset import Dataset
from whylight.data.planted import CLASSES
from whylight.run.summary import summarise
from whylight.store.tables import Row
from whylight.study.recommend import MEASURES, _advice, _findings, _ranks, recommend

NAMES = ("negative", "positive")
DECISIVE = {word: column for column, name in enumerate(NAMES) for word in CLASSES[name]}


def decide(texts: list[str]) -> Any:
    worth = np.asarray([[sum(DECISIVE.get(w) == c for w in text.split()) for c in (0, 1)] for text in texts], float)
    odds = np.exp(4 * worth)
    return odds / odds.sum(axis=1, keepdims=True)


@pytest.fixture
def data() -> Dataset:
    return wl.dataset("planted:", split="dev", size=12, length=9)


@pytest.fixture
def classifier() -> Any:
    return wl.load(decide, labels=NAMES, mask_string="garden")


def test_methods_that_find_the_planted_word_beat_random_under_both_removers(classifier: Any, data: Dataset) -> None:
    found = recommend(classifier, data, budget=120)
    assert found.texts == len(data)
    assert set(found.rankings) == {"mask", "delete"}
    for ranking in found.rankings.values():
        assert ranking[-1] == "random"
        assert set(ranking) == {name for name, reason in wl.compatible(classifier).items() if reason is None}
    assert not any("not clearly better than random" in one for one in found.findings)
    assert any("cannot tell" in one for one in found.findings)  # several methods find the same one word
    assert found.findings[-1].startswith("use ")
    assert all(list(found.ranks[remover]) == ranking for remover, ranking in found.rankings.items())


def test_labels_are_not_looked_at(classifier: Any, data: Dataset) -> None:
    strange = data.relabelled({name: f"no label of the model: {name}" for name in data.label_names})
    found = recommend(classifier, strange, budget=120)
    assert found.texts == len(data)
    assert "human" not in {line.method for line in found.summary.lines}


def scores_of(values: dict[str, list[float]], metric: str) -> list[Row]:
    return [
        {"method": method, "metric": metric, "remover": "mask", "example_id": f"t{i}", "value": value}
        for method, own in values.items()
        for i, value in enumerate(own)
    ]


def test_a_method_that_stands_below_random_is_named_as_not_clearly_better() -> None:
    named = 0
    for seed in range(40):
        drawn = np.random.default_rng(seed)
        methods = ("lime", "occlusion", "attention", "random")
        rows = []
        for metric in MEASURES:
            shift = dict(zip(methods, drawn.normal(0, 0.5, len(methods)), strict=True))
            rows += scores_of({m: (shift[m] + drawn.normal(0, 0.3, 12)).tolist() for m in methods}, metric)
        explanations = [{"method": m, "example_id": "t0", "seconds": 0, "forward_passes": 0, "backward_passes": 0}
                        for m in methods]  # fmt: skip
        ranking = list(_ranks(summarise(explanations, rows), "mask", several=False))
        said = " ".join(
            one for one in _findings(rows, {"mask": ranking}, texts=12, noun=Text.noun) if "not clearly better" in one
        )
        below = ranking[ranking.index("random") + 1 :]
        assert all(name in said for name in below), (seed, ranking, said)
        named += len(below)
    assert named > 20


def table_of(means: dict[str, float], *, spread: float = 0.05) -> tuple[list[Row], list[Row]]:
    """Scores of 20 texts around means, which are better the higher they are, and receipts; names tell the seconds."""
    drawn = np.random.default_rng(0).normal(0, spread, 20)
    rows = []
    for metric, sign in zip(MEASURES, (1, -1), strict=True):
        noise = {m: 0.0 if m == "twin" else k * 1e-3 for k, m in enumerate(means)}
        rows += scores_of({m: (sign * (mean + drawn * (1 + noise[m]))).tolist() for m, mean in means.items()}, metric)
    seconds = {"slow": 5.0, "fast": 0.1}
    receipts = [{"method": m, "example_id": "t0", "seconds": seconds.get(m, 1.0), "forward_passes": 0,
                 "backward_passes": 0} for m in means]  # fmt: skip
    return receipts, rows


def test_methods_with_the_same_figures_have_the_same_rank() -> None:
    receipts, rows = table_of({"occlusion": 0.5, "lime": 0.7, "twin": 0.5 + 1e-8, "random": 0.1})
    ranks = _ranks(summarise(receipts, rows), "mask", several=False)
    assert ranks == {"lime": 1, "occlusion": 2, "twin": 2, "random": 4}


BETTER = "because under mask it is clearly better than random, and the"


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ({"slow": 0.7, "fast": 0.5}, f"use slow, {BETTER} best"),
        ({"slow": 0.7, "fast": 0.7}, f"use fast, {BETTER} fastest of 2"),
        ({"slow": 0.1, "fast": 0.1}, "cannot tell which to use: on 20 texts, no method is clearly better"),
    ],
)
def test_the_advice_is_the_fastest_of_the_best_or_that_nobody_can_tell(means: dict[str, float], expected: str) -> None:
    receipts, rows = table_of({**means, "random": 0.1})
    summary = summarise(receipts, rows)
    ranking = {"mask": list(_ranks(summary, "mask", several=False))}
    assert _advice(rows, ranking, summary.lines, texts=20, noun=Text.noun).startswith(expected)


def test_two_texts_are_no_ranking_but_a_sentence_that_says_what_would_be_one(classifier: Any) -> None:
    found = recommend(classifier, wl.dataset("planted:", split="dev", size=2, length=9), budget=120)
    assert (found.rankings, found.texts) == ({}, 0)
    assert found.findings == (
        "cannot tell: 'planted' (dev) has 2 texts, and a ranking needs at least 10; give more texts.",
    )


def test_a_budget_for_few_texts_is_no_ranking_and_names_a_budget_that_would_do(classifier: Any, data: Dataset) -> None:
    ticks = iter([*(0.01 * i for i in range(9)), *(4.0 * i for i in range(100))])  # fast on trial, then slow
    found = recommend(classifier, data, budget=25, clock=lambda: next(ticks))
    assert 1 <= found.texts < 10
    assert found.rankings == {}
    (sentence,) = found.findings
    assert sentence.startswith("cannot tell: 25 seconds")
    assert f"--budget {-(-250 // found.texts)}" in sentence


def test_a_model_without_reasons_gets_no_recommendation(data: Dataset) -> None:
    constant = wl.load(lambda texts: np.tile([0.4, 0.6], (len(texts), 1)), labels=NAMES, mask_string="x")
    found = recommend(constant, data, budget=120)
    assert sum("not clearly better than random: " in one for one in found.findings) == 2
    assert found.findings[0].startswith("cannot tell under mask or under delete: no method is clearly better")
    assert found.findings[-1].startswith("cannot tell which to use")


def test_a_budget_that_is_none_or_too_small_is_refused(classifier: Any, data: Dataset) -> None:
    with pytest.raises(SettingError, match="above 0"):
        recommend(classifier, data, budget=0)
    with pytest.raises(SettingError, match="above 0"):
        recommend(classifier, data, budget=float("nan"))
    with pytest.raises(InputError, match="too few"):
        recommend(classifier, data, budget=1e-6)
