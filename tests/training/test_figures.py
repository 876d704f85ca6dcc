"""How well a model classifies: by hand, and beside scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics

from whylight.core.errors import InputError, SettingError
from whylight.training.figures import BY_DOCUMENT, BY_LABEL, multi_label, single_label

PROBABILITIES = np.asarray([[0.9, 0.8, 0.1], [0.2, 0.7, 0.6], [0.3, 0.4, 0.5]])
GOLD = np.asarray([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


def test_average_precision_over_documents_and_over_labels_by_hand() -> None:
    figures = multi_label(PROBABILITIES, GOLD, threshold=0.5)
    # first text: ranks 2 and 3 are right, (1/2 + 2/3) / 2; second: rank 3, 1/3; the third has no label
    assert figures.values[BY_DOCUMENT] == pytest.approx(((1 / 2 + 2 / 3) / 2 + 1 / 3) / 2)
    # first label: its text is the last of three, 1/3; second: the first, 1; third: the last, 1/3
    assert figures.values[BY_LABEL] == pytest.approx((1 / 3 + 1 + 1 / 3) / 3)
    assert figures.unlabelled == 1


@pytest.mark.parametrize("digits", [9, 1])  # few digits: many labels tie
@pytest.mark.parametrize("seed", range(5))
def test_both_average_precisions_are_those_of_scikit_learn(seed: int, digits: int) -> None:
    generator = np.random.default_rng(seed)
    probabilities = generator.random((60, 12)).round(digits)
    gold = (generator.random((60, 12)) < 0.12).astype(float)
    figures = multi_label(probabilities, gold)
    some = gold.any(1)
    assert 0 < figures.unlabelled == int((~some).sum())
    ranked = metrics.label_ranking_average_precision_score(gold[some], probabilities[some])
    by_text = metrics.average_precision_score(gold[some], probabilities[some], average="samples")
    assert figures.values[BY_DOCUMENT] == pytest.approx(ranked, abs=1e-12) == pytest.approx(by_text, abs=1e-12)
    by_label = metrics.average_precision_score(gold, probabilities, average="macro")
    assert figures.values[BY_LABEL] == pytest.approx(by_label, abs=1e-12)
    assert abs(figures.values[BY_LABEL] - figures.values[BY_DOCUMENT]) > 0.01


def test_without_ties_it_is_the_first_papers_formula() -> None:
    generator = np.random.default_rng(0)
    probabilities, gold = generator.random((40, 9)), (generator.random((40, 9)) < 0.4).astype(float)
    gold[:, 0] = 1.0
    ordered = np.take_along_axis(gold, np.argsort(-probabilities, axis=1), axis=1)
    precisions = np.cumsum(ordered, axis=1) / np.arange(1, 10)
    expected = ((precisions * ordered).sum(1) / ordered.sum(1)).mean()
    assert multi_label(probabilities, gold).values[BY_DOCUMENT] == pytest.approx(expected, abs=1e-12)


def test_the_name_that_means_both_is_refused_with_both() -> None:
    for values in (multi_label(PROBABILITIES, GOLD).values, single_label(PROBABILITIES, np.asarray([0, 1, 2])).values):
        with pytest.raises(SettingError, match=rf"'{BY_DOCUMENT}'.*'{BY_LABEL}'"):
            values["mean_average_precision"]
        with pytest.raises(KeyError, match="neither"):
            values["neither"]


def test_texts_without_any_label_have_no_figures() -> None:
    with pytest.raises(InputError, match="no text has a label"):
        multi_label(PROBABILITIES, np.zeros_like(GOLD))
