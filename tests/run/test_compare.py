"""A paired comparison: what is the same is not different, and the p-value is the permutation test's."""

import numpy as np
import pytest

from whylight.core.errors import InputError, SettingError
from whylight.run.compare import CLEAR, compare_rows, holm, permutation_test, permutation_tests, select
from whylight.store.tables import Row


def rows(values: list[float], *, metric: str = "iou", method: str = "lime") -> list[Row]:
    return [{"method": method, "metric": metric, "example_id": f"t{i}", "value": v} for i, v in enumerate(values)]


def test_a_method_is_no_better_than_itself() -> None:
    (same,) = compare_rows(rows([0.1, 0.5, 0.9]), rows([0.1, 0.5, 0.9]))
    assert (same.difference.mean, same.p_value, same.wins) == (0.0, 1.0, 0.5)


def test_six_wins_of_six_have_the_p_value_of_two_in_sixty_four() -> None:
    (better,) = compare_rows(rows([0.6, 0.7, 0.8, 0.9, 0.7, 0.8]), rows([0.1, 0.2, 0.3, 0.1, 0.2, 0.3]))
    assert better.wins == 1.0
    assert better.p_value == pytest.approx(2 / 64, abs=0.006)  # all signs alike, in both directions
    assert better.difference.low > 0


def test_lower_is_better_where_the_metric_says_so() -> None:
    (one,) = compare_rows(rows([0.1, 0.1], metric="aopc_sufficiency"), rows([0.4, 0.4], metric="aopc_sufficiency"))
    assert not one.higher_is_better
    assert one.difference.mean == pytest.approx(-0.3)
    assert one.wins == 1.0


@pytest.mark.parametrize(("texts", "said"), [(9, "cannot tell"), (10, "better")])
def test_who_is_better_is_said_on_enough_texts_alone(texts: int, said: str) -> None:
    high, low = [0.8 + 0.01 * i for i in range(texts)], [0.2] * texts
    assert compare_rows(rows(high), rows(low))[0].standing == said
    assert compare_rows(rows(low), rows(high))[0].standing == {"better": "worse"}.get(said, said)
    lower = [rows(values, metric="aopc_sufficiency") for values in (low, high)]
    assert compare_rows(*lower)[0].standing == said


def test_an_interval_that_leaves_out_zero_is_not_enough() -> None:
    # One large difference among many that are none: the bootstrap interval starts at 0, the test sees nothing.
    (one,) = compare_rows(rows([1.0] + [0.1] * 11), rows([0.0] + [0.1] * 11))
    assert one.standing == "cannot tell"


def test_only_texts_that_both_have_are_compared_and_undefined_values_are_left_out() -> None:
    (one,) = compare_rows(rows([0.5, float("nan"), 0.7, 0.9]), rows([0.4, 0.1, 0.6]))
    assert one.difference.texts == 2
    assert one.difference.mean == pytest.approx(0.1)
    with pytest.raises(InputError, match="in common"):
        compare_rows(rows([0.5]), rows([0.5], metric="entropy"))


def test_the_labels_of_a_text_count_as_one_text() -> None:
    twice = [*rows([0.2]), *rows([0.6])]
    (one,) = compare_rows(twice, rows([0.0]))
    assert one.difference.mean == pytest.approx(0.4)


def test_an_unknown_method_is_refused_with_those_of_the_run() -> None:
    with pytest.raises(SettingError, match="lime"):
        select(rows([0.5]), "lim")


def test_several_tests_are_corrected_by_hand() -> None:
    assert holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.01, 0.012, 0.9]) == pytest.approx([0.03, 0.03, 0.9])  # none below that of a smaller one
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert (holm([0.03]), holm([])) == ([0.03], [])


def test_of_many_tests_of_nothing_hardly_any_family_finds_something() -> None:
    drawn = np.random.default_rng(0).random((2000, 20))
    alone = np.mean([own.min() < CLEAR for own in drawn])
    corrected = np.mean([min(holm(own.tolist())) < CLEAR for own in drawn])
    assert alone > 0.6
    assert 0.04 < corrected < 0.06


def test_of_many_tests_of_something_each_is_found() -> None:
    """The smallest p-value, times their number, must be able to be clear."""
    drawn = np.random.default_rng(0).normal(5.0, 1.0, (600, 40))
    assert max(holm(permutation_tests(list(drawn)))) < CLEAR


def test_a_test_is_the_same_alone_and_with_others() -> None:
    drawn = [np.random.default_rng(number).normal(0.3, 1.0, 12 + number % 3) for number in range(9)]
    assert permutation_tests(drawn) == [permutation_test(own) for own in drawn]
