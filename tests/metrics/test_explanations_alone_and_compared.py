"""Metrics of an explanation alone, and of two explanations: scipy and hand-worked examples as references."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from metric_builders import explanation
from scipy import stats

from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.registry import METRICS
from whylight.metrics.agreement import kendall_tau, pearson, spearman, top_k_overlap
from whylight.metrics.alone import entropy, evidence_size, non_alphanumeric_share

COMPARED = [name for name in METRICS.names() if METRICS[name].consumes == (Explanation, Explanation)]
LIKENESS = [name for name in COMPARED if METRICS[name].facts["higher_is_better"]]
ALONE = [name for name in METRICS.names() if METRICS[name].consumes == (Explanation,)]
numbers = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=2, max_size=12)


def test_entropy_by_hand() -> None:
    # shares 1/2, 1/4, 1/4, 0: 1/2 * 1 + 2 * 1/4 * 2 = 1.5 bits of 2; of absolute scores 1/4, 1/8, 1/8, 1/2: 1.75
    np.testing.assert_allclose(entropy(explanation([2.0, 1.0, 1.0, -4.0])), [0.75])
    np.testing.assert_allclose(entropy(explanation([2.0, 1.0, 1.0, -4.0]), sign="absolute"), [1.75 / 2])
    np.testing.assert_allclose(entropy(explanation([[3.0, 3.0, 3.0], [5.0, 0.0, -1.0]])), [1.0, 0.0], atol=1e-12)


def test_entropy_of_nothing_to_spread_is_undefined() -> None:
    assert np.isnan(entropy(explanation([[0.0, 0.0], [-1.0, 0.0]]))).all()
    assert np.isnan(entropy(explanation([1.0]))).all()


@given(st.lists(st.floats(0, 10), min_size=2, max_size=12).filter(any), st.integers(0, 99))
def test_entropy_is_that_of_scipy_whatever_the_order_and_scale(scores: list[float], seed: int) -> None:
    row = np.asarray(scores)
    expected = stats.entropy(row, base=2) / np.log2(len(row))
    shuffled = np.random.default_rng(seed).permutation(row) * 4
    np.testing.assert_allclose(entropy(explanation(row)), [expected], atol=1e-9)
    np.testing.assert_allclose(entropy(explanation(shuffled)), [expected], atol=1e-9)


def test_signs_are_counted_among_the_top_features() -> None:
    words = [",", "good", "१२", "!", "film", "—", "é", "🎬", "x1"]
    # the top five are , good १२ ! film; the last five — é 🎬 x1 film
    down = explanation(-np.arange(9.0), words=words)
    np.testing.assert_allclose(non_alphanumeric_share(down), [2 / 5])
    np.testing.assert_allclose(non_alphanumeric_share(down, k=1), [1.0])
    np.testing.assert_allclose(non_alphanumeric_share(down, k=100), [4 / 9])
    np.testing.assert_allclose(non_alphanumeric_share(explanation(np.arange(9.0), words=words)), [2 / 5])
    both = explanation(np.stack([-np.arange(9.0), np.arange(9.0)]), words=words)
    np.testing.assert_allclose(non_alphanumeric_share(both, k=1), [1.0, 0.0])
    with pytest.raises(SettingError, match="k"):
        non_alphanumeric_share(down, k=0)


def test_evidence_size_by_hand() -> None:
    # divided by 20: .4 .2 .2 .1 .1, and by 8: 1 .5 .5 .25 .25; -4 counts only among absolute scores, of sum 24
    made = explanation([8.0, 4.0, 4.0, 2.0, 2.0, -4.0, 0.0])
    np.testing.assert_allclose(evidence_size(made, boundary=0.2), [3.0])
    np.testing.assert_allclose(evidence_size(made, boundary=0.21), [1.0])
    np.testing.assert_allclose(evidence_size(made, boundary=0.0), [5.0])
    np.testing.assert_allclose(evidence_size(made, boundary=0.25, scale="max"), [5.0])
    np.testing.assert_allclose(evidence_size(made, boundary=4 / 24, sign="absolute"), [4.0])
    np.testing.assert_allclose(evidence_size(explanation([[1.0, 3.0], [2.0, 2.0]]), boundary=0.5), [1.0, 2.0])


def test_correlations_by_hand() -> None:
    # 1 2 3 4 against 1 3 2 4: five of six pairs agree; ranks differ by 1 twice: 1 - 6 * 2 / (4 * 15)
    one, other = explanation([1.0, 2.0, 3.0, 4.0]), explanation([1.0, 3.0, 2.0, 4.0])
    np.testing.assert_allclose(kendall_tau(one, other), [(5 - 1) / 6])
    np.testing.assert_allclose(spearman(one, other), [0.8])
    np.testing.assert_allclose(pearson(one, other), [0.8])
    np.testing.assert_allclose(pearson(one, explanation([1.0, 4.0, 9.0, 16.0])), [25 / np.sqrt(5 * 129)])
    np.testing.assert_allclose(kendall_tau(one, explanation([4.0, 3.0, 2.0, 1.0])), [-1.0])


@pytest.mark.parametrize(
    ("name", "reference"),
    [("kendall_tau", stats.kendalltau), ("spearman", stats.spearmanr), ("pearson", stats.pearsonr)],
)
@given(drawn=numbers)
def test_correlations_are_those_of_scipy(name: str, reference: Any, drawn: list[tuple[int, int]]) -> None:
    one, other = (np.asarray(column, dtype=np.float64) for column in zip(*drawn, strict=True))
    found = METRICS[name].function(explanation(one), explanation(other))
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        assert np.isnan(found).all()
    else:
        np.testing.assert_allclose(found, [reference(one, other)[0]], atol=1e-12)


@pytest.mark.parametrize("name", ["kendall_tau", "pearson", "spearman"])
@pytest.mark.filterwarnings("error")
def test_constant_scores_on_either_side_are_undefined_without_a_warning(name: str) -> None:
    constant, other = explanation([2.0, 2.0, 2.0]), explanation([1.0, 2.0, 3.0])
    for one, two in ((constant, other), (other, constant), (constant, constant)):
        assert np.isnan(METRICS[name].function(one, two)).all()


@pytest.mark.parametrize("name", LIKENESS)
@given(drawn=numbers)
def test_the_comparison_is_symmetric_and_bounded(name: str, drawn: list[tuple[int, int]]) -> None:
    one, other = (explanation(np.asarray(column, dtype=np.float64)) for column in zip(*drawn, strict=True))
    compare = METRICS[name].function
    np.testing.assert_allclose(compare(one, other), compare(other, one), atol=1e-12)
    assert np.isnan(compare(one, other)).all() or (np.abs(compare(one, other)) <= 1 + 1e-12).all()


@pytest.mark.parametrize("name", ["kendall_tau", "spearman", "top_k_overlap"])
@given(drawn=numbers)
def test_comparisons_of_rankings_keep_under_monotone_transforms(name: str, drawn: list[tuple[int, int]]) -> None:
    one, other = (np.asarray(column, dtype=np.float64) for column in zip(*drawn, strict=True))
    compare = METRICS[name].function
    np.testing.assert_array_equal(
        compare(explanation(one**3), explanation(np.exp(other))), compare(explanation(one), explanation(other))
    )


def test_the_sign_may_be_left_out_of_a_comparison() -> None:
    one, other = explanation([-3.0, 1.0, 2.0]), explanation([3.0, 1.0, 2.0])
    for name in LIKENESS:
        settings = {"k": 1} if name == "top_k_overlap" else {}
        np.testing.assert_allclose(METRICS[name].function(one, other, sign="absolute", **settings), [1.0])
        assert METRICS[name].function(one, other, **settings) < 1
    # the positive part of -3 is 0, so that it ties with the other 0
    np.testing.assert_allclose(
        kendall_tau(explanation([-3.0, 0.0, 2.0]), explanation([0.0, 0.0, 5.0]), sign="positive"), 1
    )


def test_overlap_by_hand() -> None:
    # top three 0, 1, 2 and 2, 3, 0: two in common
    one, other = explanation([9.0, 8.0, 7.0, 1.0]), explanation([5.0, 0.0, 9.0, 8.0])
    np.testing.assert_allclose(top_k_overlap(one, other, k=3), [2 / 3])
    np.testing.assert_allclose(top_k_overlap(one, other), [1.0])  # four words only
    np.testing.assert_allclose(top_k_overlap(one, other, k=1), [0.0])
    with pytest.raises(SettingError, match="k"):
        top_k_overlap(one, other, k=0)


def test_each_target_is_compared_with_itself() -> None:
    one = explanation([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    np.testing.assert_allclose(kendall_tau(one, explanation([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])), [1.0, -1.0])
    np.testing.assert_allclose(kendall_tau(one, explanation([[1.0, 2.0, 3.0]], targets=2)), [1.0, -1.0])
    with pytest.raises(SettingError, match="labels"):
        kendall_tau(one, explanation([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(kendall_tau(explanation([1.0, 2.0, 3.0]), one), [1.0])


@pytest.mark.parametrize("name", COMPARED)
def test_other_features_are_refused(name: str) -> None:
    one = explanation([1.0, 2.0, 3.0])
    for other in (explanation([1.0, 2.0]), explanation([1.0, 2.0, 3.0], words=["x", "y", "z"])):
        with pytest.raises(SettingError, match="texts or units"):
            METRICS[name].function(one, other)
