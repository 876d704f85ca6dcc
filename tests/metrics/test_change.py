"""How far one explanation is from another: hand-worked examples, and what the formulas imply."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from metric_builders import explanation

from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.registry import METRICS
from whylight.metrics.agreement import mean_change, sign_change

numbers = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=12)


def unsigned(scores: Any) -> Explanation:
    made = explanation(scores)
    return replace(made, provenance=replace(made.provenance, signed=False))


def test_sign_changes_by_hand() -> None:
    # + to -, - to +, + to +, + to 0, 0 to -: two of five; in the second row none of five
    one = explanation([[2.0, -1.0, 3.0, 1.0, 0.0], [1.0, 1.0, 1.0, -1.0, 0.0]])
    other = explanation([[-9.0, 0.1, 4.0, 0.0, -1.0], [2.0, 3.0, 1.0, -5.0, 0.0]])
    np.testing.assert_allclose(sign_change(one, other), [2 / 5, 0.0])


def test_signs_of_the_smallest_numbers_count() -> None:
    assert sign_change(explanation([1e-300]), explanation([-1e-300])) == 1.0  # their product is 0


def test_scores_without_signs_cannot_change_them() -> None:
    for one, other in ((unsigned([1.0]), explanation([-1.0])), (explanation([1.0]), unsigned([1.0]))):
        assert np.isnan(sign_change(one, other)).all()


def test_mean_change_by_hand() -> None:
    one, other = explanation([4.0, -2.0, 0.0]), explanation([5.0, 5.0, -10.0])
    # 1, -1/2, 0 against 1/2, 1/2, -1: differences 1/2, 1, 1
    np.testing.assert_allclose(mean_change(one, other), [2.5 / 3])
    # 2/3, -1/3, 0 against 1/4, 1/4, -1/2: differences 5/12, 7/12, 6/12
    np.testing.assert_allclose(mean_change(one, other, scale="sum"), [18 / 36])
    np.testing.assert_allclose(mean_change(one, other, scale="none"), [(1 + 7 + 10) / 3])
    np.testing.assert_allclose(mean_change(one, explanation([0.0, 0.0, 0.0])), [1.5 / 3])


def test_each_target_changes_by_itself() -> None:
    one = explanation([[1.0, -1.0], [2.0, 1.0]])
    other = explanation([[-1.0, 1.0], [4.0, 2.0]])
    np.testing.assert_allclose(sign_change(one, other), [1.0, 0.0])
    np.testing.assert_allclose(mean_change(one, other), [2.0, 0.0])
    shared = explanation([[2.0, 1.0]], targets=2)  # one row for both targets, as attention has it
    np.testing.assert_allclose(mean_change(one, shared), [(0 + 1.5) / 2, 0.0])


@pytest.mark.parametrize("measure", [sign_change, mean_change])
def test_without_features_there_is_no_change(measure: Any) -> None:
    assert np.isnan(measure(explanation(np.zeros((1, 0))), explanation(np.zeros((1, 0))))).all()


@given(drawn=numbers, factor=st.floats(0.01, 100))
def test_change_is_symmetric_bounded_and_blind_to_units(drawn: list[tuple[int, int]], factor: float) -> None:
    one, other = (np.asarray(column, dtype=np.float64) for column in zip(*drawn, strict=True))
    for measure, most in ((sign_change, 1.0), (mean_change, 2.0)):
        value: Any = measure(explanation(one), explanation(other))
        np.testing.assert_allclose(measure(explanation(other), explanation(one)), value, atol=1e-12)
        np.testing.assert_allclose(measure(explanation(one * factor), explanation(other)), value, atol=1e-12)
        assert (value >= 0).all()
        assert (value <= most + 1e-12).all()
        assert measure(explanation(one), explanation(one)) == 0.0


def test_an_unknown_scale_is_refused_by_its_setting() -> None:
    with pytest.raises(SettingError, match="max, sum, none"):
        METRICS["mean_change"].complete_settings({"scale": "min"})
