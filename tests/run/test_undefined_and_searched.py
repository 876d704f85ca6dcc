"""Metrics that have no value of some texts are counted over the others; those that search ask for nothing in vain."""

from typing import Any

import numpy as np
import pytest

import whylight as wl
from whylight.data.dataset import Dataset, Record

NAMES = ["normalised_aopc_comprehensiveness", "normalised_aopc_sufficiency"]


def classifier(asked: list[str]) -> Any:
    """One that counts a word, and writes down what it is asked."""

    def good(texts: list[str]) -> Any:
        asked.extend(texts)
        p = np.asarray([0.5 + 0.1 * text.split().count("good") for text in texts])
        return np.stack([1 - p, p], axis=1)

    return wl.load(good, labels=["bad", "fine"])


def dataset(*texts: str) -> Dataset:
    return Dataset("made", "test", ("bad", "fine"), tuple(Record(one, wl.Text(one), ("fine",)) for one in texts))


@pytest.mark.parametrize("settings", [{}, {"exact": 3}])
def test_texts_without_a_value_are_left_out_and_the_others_counted(settings: dict[str, int]) -> None:
    data = dataset("a good plot and a good cast", "a plot and a cast", "one good film")
    found = wl.evaluate(classifier([]), data, methods=["occlusion"], metrics=NAMES, settings=settings)
    cells = next(line.cells for line in found.summary.lines if line.method == "occlusion")
    assert [cells[name].texts for name in NAMES] == [2, 2]
    assert [cells[name].mean for name in NAMES] == pytest.approx([1.0, 0.0])


def test_a_search_is_not_tried_on_answers_that_are_made_up() -> None:
    asked: list[str] = []
    n = 30
    data = dataset(" ".join(["good" if i in (7, 19) else f"word{i}" for i in range(n)]))
    settings = {"exact": 3, "beam": 1}
    wl.evaluate(classifier(asked), data, methods=["occlusion"], metrics=NAMES, settings=settings)
    bounds, each, curve = n * (n + 1) + 1, 2 * n, 14
    assert len(set(asked)) <= bounds + n + 2 * (each + curve)  # the method; its explanation, and random scores
