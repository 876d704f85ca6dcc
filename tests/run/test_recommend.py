"""A recommendation says what the budget could tell, and no more."""

from typing import Any

import numpy as np
import pytest

import whylight as wl
from whylight.core.errors import InputError, SettingError
from whylight.data.dataset import Dataset
from whylight.data.planted import CLASSES
from whylight.run.recommend import recommend

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
        assert set(ranking) == {"occlusion", "lime", "kernel_shap", "shapley_sampling", "random"}
    assert not any("not clearly better than random" in one for one in found.findings)
    assert any("cannot tell" in one for one in found.findings)  # four methods find the same one word


def test_a_model_without_reasons_gets_no_recommendation(data: Dataset) -> None:
    constant = wl.load(lambda texts: np.tile([0.4, 0.6], (len(texts), 1)), labels=NAMES, mask_string="x")
    found = recommend(constant, data, budget=120)
    assert sum("not clearly better than random" in one for one in found.findings) == 2


def test_the_budget_bounds_the_texts(classifier: Any, data: Dataset) -> None:
    ticks = iter(range(100_000))
    found = recommend(classifier, data, budget=25, clock=lambda: float(next(ticks)))
    assert 1 <= found.texts < len(data)


def test_a_budget_that_is_none_or_too_small_is_refused(classifier: Any, data: Dataset) -> None:
    with pytest.raises(SettingError, match="above 0"):
        recommend(classifier, data, budget=0)
    with pytest.raises(InputError, match="too few"):
        recommend(classifier, data, budget=1e-6)
