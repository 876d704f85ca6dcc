"""Plausibility over a corpus: scikit-learn, brute force and hand-worked examples as references."""

import numpy as np
import pytest
from hypothesis import given
from metric_builders import Documents, documents, made, pair
from sklearn import metrics as reference

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.core.marked import MarkedCorpus, MarkedPair, TuningNeededError, marked_corpus
from whylight.core.registry import METRICS
from whylight.metrics._corpus import scaled_pairs, tune_boundary
from whylight.metrics.corpus import (
    corpus_auprc,
    corpus_average_precision,
    f1_of_means,
    micro_f1,
    micro_precision,
    micro_recall,
)

# each sums to 1. Chosen from 0.3 on: 0 and 1 of the first (one of two gold), nothing of the second, all of the third
CORPUS = [pair([0.5, 0.3, 0.2, 0.0], [0, 2]), pair([0.25, 0.25, 0.25, 0.25], [1]), pair([1.0], [0])]
NO_RATIONALE = pair([0.9, 0.1], [])


def tuned(pairs: list[MarkedPair]) -> float:
    return tune_boundary(scaled_pairs(pairs, scale="sum", sign="positive"))


def joined(pairs: list[MarkedPair]) -> tuple[Floats, Bools]:
    kept = [(s, g) for s, g in scaled_pairs(pairs, scale="sum", sign="positive") if g.any()]
    return np.concatenate([s for s, _ in kept]), np.concatenate([g for _, g in kept])


def micro(pairs: list[MarkedPair], boundary: float) -> tuple[float, float, float]:
    corpus = marked_corpus(pairs)
    found = [one(corpus, boundary=boundary) for one in (micro_precision, micro_recall, micro_f1)]
    assert all(one.shape == (1,) for one in found)
    return float(found[0][0]), float(found[1][0]), float(found[2][0])


def test_micro_values_by_hand() -> None:
    # 2 hits, 3 chosen, 4 gold
    assert micro(CORPUS, 0.3) == pytest.approx((2 / 3, 2 / 4, 4 / 7))


def test_nothing_chosen_is_no_precision() -> None:
    assert micro(CORPUS, 2.0) == (0.0, 0.0, 0.0)
    assert f1_of_means(marked_corpus(CORPUS), boundary=2.0) == [0.0]


def test_the_f1_of_means_is_not_the_mean_f1() -> None:
    # precision 1/2 and 1, recall 1 and 1/3: F1 2/3 and 1/2, but of the means 3/4 and 2/3 it is 12/17
    pairs = [pair([0.5, 0.5], [0]), pair([1.0, 0.0, 0.0], [0, 1, 2])]
    assert f1_of_means(marked_corpus(pairs), boundary=0.3)[0] == pytest.approx(12 / 17)
    # precision 1/2, 0, 1; recall 1/2, 0, 1
    assert f1_of_means(marked_corpus(CORPUS), boundary=0.3)[0] == pytest.approx(0.5)


def test_scores_are_scaled_and_made_non_negative_within_a_pair() -> None:
    raw = [pair([8.0, 3.0, -1.0, 0.0], [0, 2])]
    assert micro(raw, 0.3) == pytest.approx((1.0, 1 / 2, 2 / 3))  # .73, .27, 0, 0
    by_maximum = {"boundary": 0.3, "scale": "max"}  # 1, .375, 0, 0
    assert micro_precision(marked_corpus(raw), **by_maximum)[0] == 1 / 2
    absolute = {**by_maximum, "boundary": 0.1, "sign": "absolute"}  # 1, .375, .125, 0
    assert micro_recall(marked_corpus(raw), **absolute)[0] == 1.0


def test_the_boundary_by_hand() -> None:
    # F1 at 1.0: 2*1/(1+4); .5: 2*2/(2+4) = .67; .3: 4/7; .25: 6/11; .2: 8/12 = .67. The higher of the two best
    assert tuned(CORPUS) == 0.5
    # never 0, although all features would be the best choice
    assert tuned([pair([0.6, 0.4, 0.0, 0.0], [0, 1, 2, 3])]) == 0.4


def test_without_a_boundary_the_tuning_texts_decide() -> None:
    others = [pair([0.5, 0.25, 0.25], [0, 1], text="other")]  # F1 is 2/3 at .5 and 4/5 at .25
    corpus = marked_corpus(CORPUS, others)
    for name in ("micro_precision", "micro_recall", "micro_f1", "f1_of_means"):
        measure = METRICS[name].function
        assert measure(corpus) == measure(corpus, boundary=0.25)
        assert measure(corpus) != measure(corpus, boundary=0.5)
        with pytest.raises(TuningNeededError, match="texts to tune on"):
            measure(marked_corpus(CORPUS))


@given(documents)
def test_no_boundary_is_better_than_the_tuned_one(drawn: Documents) -> None:
    pairs = made(drawn)
    scores, _ = joined(pairs)
    found = tuned(pairs)
    best = micro(pairs, found)[2]
    every = {float(s): micro(pairs, float(s))[2] for s in scores if s > 0}
    assert best == pytest.approx(max(every.values()))
    assert found == max(s for s, f1 in every.items() if f1 >= best - 1e-12)


@given(documents)
def test_micro_values_are_those_of_scikit_learn(drawn: Documents) -> None:
    pairs = made(drawn)
    scores, gold = joined(pairs)
    expected = reference.precision_recall_fscore_support(gold, scores >= 0.4, average="binary", zero_division=0)
    assert micro(pairs, 0.4) == pytest.approx(expected[:3])


@given(documents)
def test_the_areas_are_those_of_scikit_learn(drawn: Documents) -> None:
    pairs = made(drawn)
    scores, gold = joined(pairs)
    precision, recall, _ = reference.precision_recall_curve(gold, scores)
    corpus = marked_corpus(pairs)
    assert corpus_auprc(corpus)[0] == pytest.approx(reference.auc(recall, precision), abs=1e-12)
    assert corpus_average_precision(corpus)[0] == pytest.approx(
        reference.average_precision_score(gold, scores), abs=1e-12
    )


def test_the_published_area_is_coarse() -> None:
    # strictly above 0, .01, ...: all scores but the last pass 0; only the first passes .01 to .98; nothing passes .99.
    # points (recall, precision): 0: (1, 2/3); .01-.98: (1/2, 1); then (0, 0). Area 1/2 * 1/2 + 1/2 * (1 + 2/3)/2
    corpus = marked_corpus([pair([0.9, 0.005, 0.004, 0.0], [0, 2])])
    assert corpus_auprc(corpus, published=True)[0] == pytest.approx(0.25 + 5 / 12)
    # exact: thresholds .99 (1/2, 1), .0055 (1/2, 1/2), .0044 (1, 2/3): 1/2 * 1 + 1/2 * (1/2 + 2/3)/2
    assert corpus_auprc(corpus)[0] == pytest.approx(0.5 + 7 / 24)


def test_pairs_without_a_rationale_do_not_count() -> None:
    more = [NO_RATIONALE, *CORPUS]
    assert tuned(more) == tuned(CORPUS)
    assert len(marked_corpus(more, more).pairs) == len(marked_corpus(more, more).tuning) == 3
    assert micro(more, 0.3) == micro(CORPUS, 0.3)
    assert corpus_auprc(marked_corpus(more)) == corpus_auprc(marked_corpus(CORPUS))
    with pytest.raises(SettingError, match="rationale"):
        marked_corpus([NO_RATIONALE])
    with pytest.raises(SettingError, match="rationale"):
        tuned([NO_RATIONALE])
    with pytest.raises(SettingError, match="above 0"):
        tuned([pair([0.0, 0.0], [1])])


def test_a_text_with_two_labels_counts_once_where_texts_are_averaged() -> None:
    two = [pair([1.0, 0.0], [0], text="a"), pair([0.0, 1.0], [0], text="a"), pair([1.0, 0.0], [0], text="b")]
    corpus: MarkedCorpus = marked_corpus(two)
    assert corpus.mean_over_texts(np.asarray([1.0, 0.0, 1.0])) == [0.75]
    assert corpus.mean_over_pairs(np.asarray([1.0, 0.0, 1.0])) == pytest.approx([2 / 3])
