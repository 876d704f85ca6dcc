"""The bundled coder: small, and what its card says of it is so."""

import re
from typing import Any

import numpy as np
import pytest

import whylight as wl
from whylight.core.errors import ModelError
from whylight.explaining.case import open_case
from whylight.models.bundled_start import CODER, CODER_NAME
from whylight.models.masked import read_masked
from whylight.training.figures import multi_label

LARGEST = 15_000_000
UNSEEN_SEED = 1
"""Of the notes that the card is about; those that it learnt from have seed 0."""


@pytest.fixture(scope="module")
def coder() -> Any:
    return wl.load(CODER_NAME)


def unseen(size: int) -> Any:
    return wl.dataset("discharge:", split="test", size=size, seed=UNSEEN_SEED)


def test_it_is_small_and_goes_by_its_name(coder: Any) -> None:
    assert sum(path.stat().st_size for path in CODER.iterdir()) <= LARGEST
    assert coder.identity == CODER_NAME == wl.load(CODER).identity
    assert len(coder.labels) == len(coder.labels.descriptions) == 50


def micro_f1(coder: Any, size: int) -> float:
    notes = unseen(size)
    given = np.asarray([open_case(coder, one.example).prediction.probabilities for one in notes])
    gold = np.asarray([[float(name in one.labels) for name in coder.labels.names] for one in notes])
    return float(multi_label(given, gold, threshold=coder.labels.threshold).values["micro_f1"])


def test_it_codes_notes_that_it_has_not_seen(coder: Any) -> None:
    assert micro_f1(coder, 40) >= 0.93


@pytest.mark.slow
def test_it_is_as_good_as_its_card_says(coder: Any) -> None:
    card = (CODER / "README.md").read_text(encoding="utf-8")
    said = re.search(r"about 165 words \| 500 \| ([\d.]+)", card)
    assert said is not None
    assert micro_f1(coder, 500) == pytest.approx(float(said[1]), abs=6e-4)
    assert float(said[1]) >= 0.95


def test_a_code_is_explained_by_words_of_its_phrase(coder: Any) -> None:
    found = []
    for record in unseen(10):
        one = wl.explain(coder, record.example, method="attingrad", target="predicted", progress=False)
        for target in one.targets:
            if target.label in record.rationales:
                marks = record.example.marks(record.rationales[target.label].places, one.places)
                found.append(bool(marks[int(np.argmax(one.row(target)))]))
    assert len(found) >= 20
    assert np.mean(found) >= 0.9


@pytest.mark.parametrize("name", ["whylight/codr", "whylight/mlm"])
def test_a_name_of_ours_that_no_classifier_has_never_goes_to_the_hub(name: str) -> None:
    with pytest.raises(ModelError, match=f"no classifier called '{name}' comes with the package; there is"):
        wl.load(name)


def test_a_name_of_ours_that_no_masked_language_model_has_never_goes_to_the_hub() -> None:
    with pytest.raises(ModelError, match=r"no masked language model called .* there is whylight/mlm\."):
        read_masked("whylight/sentiment")
