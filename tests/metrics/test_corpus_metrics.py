"""Plausibility over a corpus: scikit-learn, brute force and hand-worked examples as references."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn import metrics as reference

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.core.marked import MarkedCorpus, MarkedPair, TuningNeededError, marked_corpus
from whylight.core.registry import METRICS
from whylight.metrics._corpus import scaled_pairs, tune_boundary
from whylight.metrics._plausibility import span_agreement
from whylight.metrics.corpus import (
    corpus_auprc,
    corpus_average_precision,
    f1_of_means,
    micro_f1,
    micro_precision,
    micro_recall,
)
from whylight.metrics.kernel_regression import (
    confident_share,
    kernel_regression_f1,
    kernel_regression_iou_f1,
    kernel_regression_share,
    oracle_share,
    select_share,
    token_f1_of,
)

Documents = list[list[tuple[int, bool]]]


def pair(scores: list[float] | Floats, gold: list[int], *, text: str = "") -> MarkedPair:
    """A pair by its scores and the numbers of its gold features; without a name it is a text of its own."""
    values = np.asarray(scores, dtype=np.float64)
    marks = np.isin(np.arange(len(values)), gold)
    return MarkedPair(text or f"{values.tolist()} {gold}", values, marks, np.zeros(len(values), dtype=np.int64))


# each sums to 1. Chosen from 0.3 on: 0 and 1 of the first (one of two gold), nothing of the second, all of the third
CORPUS = [pair([0.5, 0.3, 0.2, 0.0], [0, 2]), pair([0.25, 0.25, 0.25, 0.25], [1]), pair([1.0], [0])]
NO_RATIONALE = pair([0.9, 0.1], [])

documents = st.lists(
    st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=8), min_size=1, max_size=5
).filter(lambda found: any(g for one in found for _, g in one) and any(s and g for one in found for s, g in one))


def made(drawn: Documents) -> list[MarkedPair]:
    return [
        pair([s / 6 for s, _ in one], [i for i, (_, g) in enumerate(one) if g], text=str(number))
        for number, one in enumerate(drawn)
    ]


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


def test_a_share_takes_the_features_that_reach_its_place() -> None:
    scores = np.asarray([0.4, 0.9, 0.1, 0.4, 0.7])
    # places by score: 1, 4, (0, 3), 2. A share of .2 is place 1, of .4 place 2, where two tie
    assert select_share(scores, 0.2).tolist() == [False, True, False, False, True]
    assert select_share(scores, 0.2, strict=True).tolist() == [False, True, False, False, False]
    assert select_share(scores, 0.4).tolist() == [True, True, False, True, True]
    assert select_share(scores, 0.4, strict=True).tolist() == [False, True, False, False, True]
    assert select_share(scores, 0.99).all()
    assert not select_share(np.zeros(3), 0.5, strict=True).any()
    assert select_share(np.zeros(0), 0.5).shape == (0,)


def test_the_oracle_share_is_the_smallest_that_does_best() -> None:
    # gold are the three highest of ten; places 0, 1, 2 take 1, 2, 3 features: place 2 begins where round(10 share) = 2
    document = pair([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1], [0, 1, 2])
    found = oracle_share(document)
    assert token_f1_of(select_share(document.scores, found), document) == 1
    assert 0.15 < found < 0.16
    # strictly above, the same three need place 3
    strict = oracle_share(document, strict=True)
    assert token_f1_of(select_share(document.scores, strict, strict=True), document) == 1
    assert 0.25 < strict < 0.26


def test_the_oracle_follows_what_it_is_asked_to_judge() -> None:
    def spans(chosen: Bools, own: MarkedPair) -> float:
        return span_agreement(chosen, own.gold).f1

    # gold are 0-2 and 5; two words between them score higher than 5. Token F1 of the top 2, 3, 6 is 4/6, 6/7, 8/10, but
    # spans are content with two: 0-1 shares 2/3 with 0-2, and nothing finds 5 apart from the words before it
    document = pair([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.0, 0.0, 0.0, 0.0], [0, 1, 2, 5])
    assert select_share(document.scores, oracle_share(document)).sum() == 3
    assert select_share(document.scores, oracle_share(document, judge=spans)).sum() == 2


def test_the_confident_share_counts_scores_above_a_tenth() -> None:
    assert confident_share(np.asarray([0.1, 0.11, 0.9, 0.0])) == 0.5


def known() -> list[MarkedPair]:
    """Ten words each; one or six of them are confident, and gold."""
    return [pair([1.0] + [0.0] * 9, [0]), pair([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0, 0, 0, 0], [0, 1, 2, 3, 4, 5])]


def test_kernel_regression_by_hand() -> None:
    few, many = (oracle_share(one) for one in known())
    query = pair([1.0, 1.0, 1.0] + [0.0] * 7, [])  # 3 of 10: .2 and .3 away from 1 and 6 of 10
    near, far = np.exp(-(0.2**2) / 0.05), np.exp(-(0.3**2) / 0.05)
    expected = (near * few + far * many) / (near + far)
    assert few < 0.05
    assert many > 0.4
    np.testing.assert_allclose(kernel_regression_share([*known(), NO_RATIONALE], [query, query]), [expected] * 2)


def test_leaving_one_out_never_looks_at_the_document_itself() -> None:
    few, many = (oracle_share(one) for one in known())
    np.testing.assert_allclose(kernel_regression_share(known(), known(), leave_one_out=True), [many, few])
    with pytest.raises(SettingError, match="few"):
        kernel_regression_share(known()[:1], known()[:1], leave_one_out=True)
    with pytest.raises(SettingError, match="few"):
        kernel_regression_share([NO_RATIONALE], known())
    # another label of the same text is the same document
    twice = [*known(), pair([1.0] + [0.0] * 9, [3], text=known()[0].text)]
    assert kernel_regression_share(twice, twice, leave_one_out=True)[0] == pytest.approx(many)


@given(documents, st.integers(0, 5))
def test_a_guessed_share_lies_among_the_known_ones(drawn: Documents, seed: int) -> None:
    validation = made(drawn)
    best = [oracle_share(one) for one in validation if one.gold.any()]
    found = kernel_regression_share(validation, [pair(np.random.default_rng(seed).random(7), [])])
    assert min(best) - 1e-12 <= found[0] <= max(best) + 1e-12


def test_kernel_regression_f1_by_hand() -> None:
    # learnt from one document, the share is its best one: the first place of ten, whatever the text
    corpus = marked_corpus(known(), [pair([1.0] + [0.0] * 9, [0], text="other")])
    # one of one gold is marked, and one of six: F1 1 and 2/7
    assert kernel_regression_f1(corpus)[0] == pytest.approx((1 + 2 / 7) / 2)
    # left out, each is marked as the other one would be
    shares = kernel_regression_share(known(), known(), leave_one_out=True)
    by_hand = [token_f1_of(select_share(one.scores, own), one) for one, own in zip(known(), shares, strict=True)]
    assert kernel_regression_f1(marked_corpus(known()), leave_one_out=True)[0] == pytest.approx(np.mean(by_hand))
    with pytest.raises(TuningNeededError):
        kernel_regression_f1(marked_corpus(known()))


def test_spans_are_judged_where_spans_are_asked_for() -> None:
    # half of a gold span is found: F1 of features 2/3, of spans 1; and spans of two texts never join
    whole = pair([1.0, 1.0, 0.0, 0.0, 0.0, 0.0], [0, 1], text="known")
    half = pair([1.0, 1.0, 0.0, 0.0, 0.0, 0.0], [0, 1, 2, 3], text="asked")
    corpus = marked_corpus([half], [whole])
    assert kernel_regression_f1(corpus)[0] == pytest.approx(2 / 3)
    assert kernel_regression_iou_f1(corpus)[0] == 1.0
    cut = MarkedPair("asked", half.scores, half.gold, np.asarray([0, 1, 1, 1, 1, 1]))
    assert kernel_regression_iou_f1(marked_corpus([cut], [whole]))[0] == 0.5  # of two spans, one is right


def test_strict_marks_what_lies_above_the_last_place_alone() -> None:
    corpus = marked_corpus(known(), [pair([1.0, 0.5] + [0.0] * 8, [0], text="other")])
    assert kernel_regression_f1(corpus, strict=True)[0] == pytest.approx((1 + 2 / 7) / 2)


def test_a_text_with_two_labels_counts_once_where_texts_are_averaged() -> None:
    two = [pair([1.0, 0.0], [0], text="a"), pair([0.0, 1.0], [0], text="a"), pair([1.0, 0.0], [0], text="b")]
    corpus: MarkedCorpus = marked_corpus(two)
    assert corpus.mean_over_texts(np.asarray([1.0, 0.0, 1.0])) == [0.75]
    assert corpus.mean_over_pairs(np.asarray([1.0, 0.0, 1.0])) == pytest.approx([2 / 3])
