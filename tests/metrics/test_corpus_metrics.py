"""Plausibility over a corpus: scikit-learn, brute force and hand-worked examples as references."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn import metrics as reference

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.metrics._corpus import (
    Pair,
    confident_share,
    corpus_auprc,
    corpus_average_precision,
    empty_rate,
    kernel_regression_share,
    macro_prf,
    micro_prf,
    oracle_share,
    select_share,
    token_f1_of,
    tune_boundary,
)
from whylight.metrics._plausibility import span_agreement


def pair(scores: list[float], gold: list[int]) -> Pair:
    return np.asarray(scores, dtype=np.float64), np.isin(np.arange(len(scores)), gold)


# chosen from 0.3 on: 0 and 1 of the first (one of two gold), nothing of the second, all of the third
CORPUS = [pair([0.5, 0.3, 0.2, 0.0], [0, 2]), pair([0.25, 0.25, 0.25, 0.25], [1]), pair([1.0], [0])]
NO_RATIONALE = pair([0.9, 0.1], [])

documents = st.lists(
    st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=8), min_size=1, max_size=5
).filter(lambda found: any(g for one in found for _, g in one) and any(s and g for one in found for s, g in one))


def made(drawn: list[list[tuple[int, bool]]]) -> list[Pair]:
    return [(np.asarray([s / 6 for s, _ in one]), np.asarray([g for _, g in one])) for one in drawn]


def joined(pairs: list[Pair]) -> Pair:
    kept = [(s, g) for s, g in pairs if g.any()]
    return np.concatenate([s for s, _ in kept]), np.concatenate([g for _, g in kept])


def test_micro_and_macro_values_by_hand() -> None:
    # micro: 2 hits, 3 chosen, 4 gold. Macro: precision 1/2, 0, 1; recall 1/2, 0, 1; F1 1/2, 0, 1
    micro = micro_prf(CORPUS, boundary=0.3)
    assert (micro.precision, micro.recall, micro.f1) == pytest.approx((2 / 3, 2 / 4, 4 / 7))
    macro = macro_prf(CORPUS, boundary=0.3)
    assert (macro.precision, macro.recall, macro.f1) == pytest.approx((0.5, 0.5, 0.5))


def test_the_f1_of_means_is_not_the_mean_f1() -> None:
    # precision 1/2 and 1, recall 1 and 1/3: F1 2/3 and 1/2, but of the means 3/4 and 2/3 it is 12/17
    pairs = [pair([0.5, 0.5], [0]), pair([1.0, 0.0, 0.0], [0, 1, 2])]
    assert macro_prf(pairs, boundary=0.3).f1 == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert macro_prf(pairs, boundary=0.3, f1="of_means").f1 == pytest.approx(12 / 17)


def test_the_empty_rate_by_hand() -> None:
    assert empty_rate(CORPUS, boundary=0.3) == pytest.approx(1 / 3)
    assert empty_rate(CORPUS, boundary=0.25) == 0
    assert empty_rate([*CORPUS, NO_RATIONALE], boundary=2.0) == 1


def test_the_boundary_by_hand() -> None:
    # F1 at 1.0: 2*1/(1+4); .5: 2*2/(2+4) = .67; .3: 4/7; .25: 6/11; .2: 8/12 = .67. The higher of the two best
    assert tune_boundary(CORPUS) == 0.5
    # never 0, although all features would be the best choice
    assert tune_boundary([pair([0.6, 0.4, 0.0, 0.0], [0, 1, 2, 3])]) == 0.4


@given(documents)
def test_no_boundary_is_better_than_the_tuned_one(drawn: list[list[tuple[int, bool]]]) -> None:
    pairs = made(drawn)
    scores, _ = joined(pairs)
    tuned = tune_boundary(pairs)
    best = micro_prf(pairs, boundary=tuned).f1
    every = {float(s): micro_prf(pairs, boundary=float(s)).f1 for s in scores if s > 0}
    assert best == pytest.approx(max(every.values()))
    assert tuned == max(s for s, f1 in every.items() if f1 >= best - 1e-12)


@given(documents)
def test_micro_values_are_those_of_scikit_learn(drawn: list[list[tuple[int, bool]]]) -> None:
    pairs = made(drawn)
    scores, gold = joined(pairs)
    expected = reference.precision_recall_fscore_support(gold, scores >= 0.4, average="binary", zero_division=0)
    found = micro_prf(pairs, boundary=0.4)
    assert (found.precision, found.recall, found.f1) == pytest.approx(expected[:3])


@given(documents)
def test_the_areas_are_those_of_scikit_learn(drawn: list[list[tuple[int, bool]]]) -> None:
    pairs = made(drawn)
    scores, gold = joined(pairs)
    precision, recall, _ = reference.precision_recall_curve(gold, scores)
    assert corpus_auprc(pairs) == pytest.approx(reference.auc(recall, precision), abs=1e-12)
    assert corpus_average_precision(pairs) == pytest.approx(reference.average_precision_score(gold, scores), abs=1e-12)


def test_the_published_area_is_coarse() -> None:
    # strictly above 0, .01, ...: all scores but .005 and .004 pass 0; only .9 passes .01 to .89; nothing passes .9.
    # points (recall, precision): 0: (1, 2/3); .01-.89: (1/2, 1); from .9 on: (0, 0). Area 1/2 * 1/2 + 1/2 * (1 + 2/3)/2
    pairs = [pair([0.9, 0.005, 0.004, 0.0], [0, 2])]
    assert corpus_auprc(pairs, published=True) == pytest.approx(0.25 + 5 / 12)
    # exact: thresholds .9 (1/2, 1), .005 (1/2, 1/2), .004 (1, 2/3): 1/2 * 1 + 1/2 * (1/2 + 2/3)/2
    assert corpus_auprc(pairs) == pytest.approx(0.5 + 7 / 24)


def test_pairs_without_a_rationale_do_not_count() -> None:
    more = [NO_RATIONALE, *CORPUS]
    assert tune_boundary(more) == tune_boundary(CORPUS)
    assert micro_prf(more, boundary=0.3) == micro_prf(CORPUS, boundary=0.3)
    assert macro_prf(more, boundary=0.3) == macro_prf(CORPUS, boundary=0.3)
    assert corpus_auprc(more) == corpus_auprc(CORPUS)
    with pytest.raises(SettingError, match="rationale"):
        tune_boundary([NO_RATIONALE])
    with pytest.raises(SettingError, match="above 0"):
        tune_boundary([pair([0.0, 0.0], [1])])


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
    assert token_f1_of(select_share(document[0], found), document[1]) == 1
    assert 0.15 < found < 0.16
    # strictly above, the same three need place 3
    strict = oracle_share(document, strict=True)
    assert token_f1_of(select_share(document[0], strict, strict=True), document[1]) == 1
    assert 0.25 < strict < 0.26


def test_the_oracle_follows_what_it_is_asked_to_judge() -> None:
    def spans(chosen: Bools, gold: Bools) -> float:
        return span_agreement(chosen, gold).f1

    # gold are 0-2 and 5; two words between them score higher than 5. Token F1 of the top 2, 3, 6 is 4/6, 6/7, 8/10, but
    # spans are content with two: 0-1 shares 2/3 with 0-2, and nothing finds 5 apart from the words before it
    document = pair([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.0, 0.0, 0.0, 0.0], [0, 1, 2, 5])
    assert select_share(document[0], oracle_share(document)).sum() == 3
    assert select_share(document[0], oracle_share(document, judge=spans)).sum() == 2


def test_the_confident_share_counts_scores_above_a_tenth() -> None:
    assert confident_share(np.asarray([0.1, 0.11, 0.9, 0.0])) == 0.5


def known() -> list[Pair]:
    """Ten words each; one or six of them are confident, and gold."""
    return [pair([1.0] + [0.0] * 9, [0]), pair([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0, 0, 0, 0], [0, 1, 2, 3, 4, 5])]


def test_kernel_regression_by_hand() -> None:
    few, many = (oracle_share(one) for one in known())
    query: Floats = np.asarray([1.0, 1.0, 1.0] + [0.0] * 7)  # 3 of 10: .2 and .3 away from 1 and 6 of 10
    near, far = np.exp(-(0.2**2) / 0.05), np.exp(-(0.3**2) / 0.05)
    expected = (near * few + far * many) / (near + far)
    assert few < 0.05
    assert many > 0.4
    np.testing.assert_allclose(kernel_regression_share([*known(), NO_RATIONALE], [query, query]), [expected] * 2)


def test_leaving_one_out_never_looks_at_the_document_itself() -> None:
    few, many = (oracle_share(one) for one in known())
    scores = [one for one, _ in known()]
    np.testing.assert_allclose(kernel_regression_share(known(), scores, leave_one_out=True), [many, few])
    with pytest.raises(SettingError, match="leave_one_out"):
        kernel_regression_share(known(), scores[:1], leave_one_out=True)
    with pytest.raises(SettingError, match="few"):
        kernel_regression_share(known()[:1], scores[:1], leave_one_out=True)
    with pytest.raises(SettingError, match="few"):
        kernel_regression_share([NO_RATIONALE], scores)


@given(documents, st.integers(0, 5))
def test_a_guessed_share_lies_among_the_known_ones(drawn: list[list[tuple[int, bool]]], seed: int) -> None:
    validation = made(drawn)
    best = [oracle_share(one) for one in validation if one[1].any()]
    found = kernel_regression_share(validation, [np.random.default_rng(seed).random(7)])
    assert min(best) - 1e-12 <= found[0] <= max(best) + 1e-12
