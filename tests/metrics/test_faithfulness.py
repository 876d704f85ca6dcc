"""Faithfulness metrics on games whose answers are worked out by hand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from metric_builders import Counted, additive, explanation, probability

from whylight.core.arrays import Floats
from whylight.core.errors import SettingError
from whylight.core.registry import METRICS
from whylight.metrics import relative
from whylight.metrics._curves import keep_curve, removal_curve, share_counts, top_count
from whylight.metrics.area import deletion_auc, insertion_auc
from whylight.metrics.perturbation import (
    aopc_comprehensiveness,
    aopc_sufficiency,
    comprehensiveness,
    log_odds,
    sufficiency,
)
from whylight.views.game import Game

FAITHFULNESS = [name for name in METRICS.names() if Game in METRICS[name].consumes]
OF_AMOUNTS = ["infidelity", "sensitivity_n"]
"""What looks at scores themselves rather than at their order; see `test_subsets.py`."""
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in FAITHFULNESS if name not in OF_AMOUNTS),
    ("aopc_comprehensiveness", {"steps": 19}),
    ("aopc_sufficiency", {"steps": 19, "divisor": "published"}),
    ("deletion_auc", {"until": 0.2, "published": True}),
    ("insertion_auc", {"until": 0.5}),
    ("relative_comprehensiveness", {"published": True}),
    ("relative_sufficiency", {"published": True}),
]
EVERY = [*VARIANTS, *((name, {}) for name in OF_AMOUNTS), ("infidelity", {"normalise": False})]
# five words worth 5, 1, -2, 4 and 0.5; f(x) = 8.5, and the explanation ranks them 1, 2, 3, 4, 0
WORTH = [5.0, 1.0, -2.0, 4.0, 0.5]
RANKED = explanation([0.1, 0.9, 0.8, 0.3, 0.2])


def test_curves_go_down_the_ranking() -> None:
    # without the top 0, 1, 2, 3, 4, 5 of the order 1, 2, 3, 4, 0; and with them alone
    np.testing.assert_allclose(
        removal_curve(RANKED, additive(WORTH), [0, 1, 2, 3, 4, 5]), [[8.5, 7.5, 9.5, 5.5, 5.0, 0.0]]
    )
    np.testing.assert_allclose(keep_curve(RANKED, additive(WORTH), [5, 4, 0, 1]), [[8.5, 3.5, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("share", "n", "rounded", "floored"),
    [(0.2, 5, 1, 1), (0.5, 5, 3, 2), (0.01, 5, 1, 0), (0.1, 25, 3, 2), (0.29, 100, 29, 29), (1.0, 7, 7, 7)],
)
def test_a_share_is_rounded_half_up_and_at_least_one_or_down(share: float, n: int, rounded: int, floored: int) -> None:
    assert top_count(share, n) == rounded
    assert top_count(share, n, rounding="floor") == floored


def test_nineteen_steps_are_five_to_ninety_five_per_cent() -> None:
    assert share_counts(19, 100, rounding="round") == list(range(5, 100, 5))
    assert share_counts(None, 100, rounding="round") == [1, 5, 10, 20, 50]


def test_sufficiency_by_hand() -> None:
    # the top 1, 2, 3 alone score 1, -1, 3
    for share, expected in [(0.2, 7.5), (0.4, 9.5), (0.6, 5.5), (1.0, 0.0)]:
        np.testing.assert_allclose(sufficiency(RANKED, additive(WORTH), share=share), [expected])


def test_sufficiency_of_no_features_is_zero_as_published() -> None:
    np.testing.assert_allclose(sufficiency(RANKED, additive(WORTH), share=0.1, rounding="floor"), [0.0])
    np.testing.assert_allclose(sufficiency(RANKED, additive(WORTH), share=0.1), [7.5])


def test_aopc_by_hand() -> None:
    # 1, 5, 10, 20, 50 % of five words are 1, 1, 1, 1, 3 (2.5 rounded up), or 0, 0, 0, 1, 2 rounded down
    game = additive(WORTH)
    np.testing.assert_allclose(aopc_comprehensiveness(RANKED, game), [(4 * 1 + 3) / 5])
    np.testing.assert_allclose(aopc_sufficiency(RANKED, game), [(4 * 7.5 + 5.5) / 5])
    published = {"divisor": "published", "rounding": "floor"}
    np.testing.assert_allclose(aopc_comprehensiveness(RANKED, game, **published), [(0 + 0 + 0 + 1 - 1) / 6])
    np.testing.assert_allclose(aopc_sufficiency(RANKED, game, **published), [(0 + 0 + 0 + 7.5 + 9.5) / 6])


def test_aopc_over_even_steps_by_hand() -> None:
    # four steps of four words: 20, 40, 60, 80 % are 0.8, 1.6, 2.4, 3.2 -> 1, 2, 2, 3 words of worth 1, 2, 4, 8
    made, game = explanation([4.0, 3.0, 2.0, 1.0]), additive([1.0, 2.0, 4.0, 8.0])
    np.testing.assert_allclose(aopc_comprehensiveness(made, game, steps=4), [(1 + 3 + 3 + 7) / 4])
    np.testing.assert_allclose(aopc_sufficiency(made, game, steps=4), [(14 + 12 + 12 + 8) / 4])


def test_log_odds_by_hand_and_clipped() -> None:
    # f(x) = 0.8, without the top word 0.2: ln 0.25; without it nothing at all is left of 0.8: ln 1e-7 - ln 0.8
    made = explanation([3.0, 2.0, 1.0])
    np.testing.assert_allclose(log_odds(made, additive([0.6, 0.1, 0.1])), [np.log(0.25)])
    np.testing.assert_allclose(log_odds(made, additive([0.8, 0.0, 0.0])), [np.log(1e-7) - np.log(0.8)])


@pytest.mark.parametrize("worth", [[0.5, 0.4, 0.3], [0.9, -0.3, 0.2]])
def test_log_odds_of_what_is_no_probability_are_refused(worth: list[float]) -> None:
    with pytest.raises(SettingError, match="probability"):
        log_odds(explanation([3.0, 2.0, 1.0]), additive(worth))


def test_deletion_and_insertion_auc_by_hand() -> None:
    # four words worth 4, 2, 1, 1, true order: deletion 8, 4, 2, 1, 0; insertion 0, 4, 6, 7, 8; width 1/4
    made, game = explanation([4.0, 2.0, 1.0, 1.0]), additive([4.0, 2.0, 1.0, 1.0])
    np.testing.assert_allclose(deletion_auc(made, game), [(6 + 3 + 1.5 + 0.5) / 4])
    np.testing.assert_allclose(insertion_auc(made, game), [(2 + 5 + 6.5 + 7.5) / 4])
    # half of the words: two steps, width 1/2
    np.testing.assert_allclose(deletion_auc(made, game, until=0.5), [(6 + 3) / 2])
    np.testing.assert_allclose(insertion_auc(made, game, until=0.5), [(2 + 5) / 2])


def test_the_published_deletion_auc_leaves_out_the_untouched_point() -> None:
    # m = max(2, ceil(0.2 * 3)) = 2: heights 4 and 2 at x = 1/2 and 1
    made, game = explanation([4.0, 2.0, 1.0, 1.0]), additive([4.0, 2.0, 1.0, 1.0])
    np.testing.assert_allclose(deletion_auc(made, game, until=0.2, published=True), [3 / 2])
    # the top 1 and 2 alone score 4 and 6
    np.testing.assert_allclose(insertion_auc(made, game, until=0.2, published=True), [5 / 2])
    # m = ceil(0.2 * 15) = 3 of 16 words, and ceil(0.2 * 16) = 4 of 17: a constant 1 scores (m - 1) / m
    for n, m in [(16, 3), (17, 4), (2, 2)]:
        constant = Game(lambda keep: np.ones((len(keep), 1)), n_features=n)
        flat = explanation(np.arange(n) * 1.0)
        np.testing.assert_allclose(deletion_auc(flat, constant, until=0.2, published=True), [(m - 1) / m])
        np.testing.assert_allclose(deletion_auc(flat, constant, until=0.2), [1.0])
    assert np.isnan(deletion_auc(explanation([1.0]), additive([1.0]), until=0.2, published=True)).all()


def test_normalised_values_by_hand() -> None:
    # f(x) = 0.9, nothing 0.1, so that 0.8 can be lost; the top word of five is worth 0.2, the top two 0.6
    made, game = explanation([5.0, 4.0, 3.0, 2.0, 1.0]), additive([0.2, 0.4, 0.1, 0.05, 0.05], base=0.1)
    np.testing.assert_allclose(relative.normalised_comprehensiveness(made, game), [0.2 / 0.8])
    np.testing.assert_allclose(relative.normalised_comprehensiveness(made, game, share=0.4), [0.6 / 0.8])
    np.testing.assert_allclose(relative.normalised_sufficiency(made, game), [1 - (0.9 - 0.3) / 0.8])
    np.testing.assert_allclose(relative.normalised_sufficiency(made, game, share=0.4), [1 - (0.9 - 0.7) / 0.8])
    # Carton's form: suff = 1 - 0.2, suff0 = 1 - 0.8
    np.testing.assert_allclose(relative.normalised_sufficiency(made, game, share=0.4), [(0.8 - 0.2) / (1 - 0.2)])


def test_normalised_values_are_clipped_and_zero_where_nothing_can_be_lost() -> None:
    made = explanation([5.0, 4.0, 3.0, 2.0, 1.0])
    over = additive([2.0, -1.0, 0.0, 0.0, 0.0])  # f(x) = 1, without the top word -1: a drop of 2 where 1 can be lost
    np.testing.assert_allclose(relative.normalised_comprehensiveness(made, over), [1.0])
    np.testing.assert_allclose(
        relative.normalised_sufficiency(made, over), [1.0]
    )  # the top word alone scores more than the text
    against = additive([-1.0, 2.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(relative.normalised_comprehensiveness(made, against), [0.0])
    np.testing.assert_allclose(relative.normalised_sufficiency(made, against), [0.0])  # loses 2 where 1 can be lost
    for nothing in ([9e-6, 0.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0, 0.0]):
        np.testing.assert_allclose(relative.normalised_comprehensiveness(made, additive(nothing)), [0.0])
        np.testing.assert_allclose(relative.normalised_sufficiency(made, additive(nothing)), [0.0])


def test_relative_values_by_hand() -> None:
    # f(x) = 8.5; drops without the top 1 ... 5: 1, -1, 3, 3.5, 8.5; with them alone: 7.5, 9.5, 5.5, 5, 0
    game = additive(WORTH)
    np.testing.assert_allclose(relative.relative_comprehensiveness(RANKED, game), [(1 + 0 + 3 + 3.5 + 8.5) / 5 / 8.5])
    np.testing.assert_allclose(relative.relative_sufficiency(RANKED, game), [(7.5 + 9.5 + 5.5 + 5 + 0) / 5 / 8.5])
    np.testing.assert_allclose(relative.relative_comprehensiveness(RANKED, game, words=3), [(1 + 0 + 3) / 3 / 8.5])
    np.testing.assert_allclose(relative.relative_sufficiency(RANKED, game, words=3, step=2), [9.5 / 1 / 8.5])


def test_the_published_relative_values_go_in_twos_and_do_not_clip_comprehensiveness() -> None:
    # 0, 2, 4 words removed: drops 0, -1, 3.5; the top 5, 3, 1 alone: drops 0, 5.5, 7.5
    game = additive(WORTH)
    np.testing.assert_allclose(
        relative.relative_comprehensiveness(RANKED, game, published=True), [(0 - 1 + 3.5) / 3 / 8.5]
    )
    np.testing.assert_allclose(relative.relative_sufficiency(RANKED, game, published=True), [(0 + 5.5 + 7.5) / 3 / 8.5])
    # of 100 words: 0, 2, ..., 98 removed and 100, 98, ..., 2 kept, fifty points each
    many, even = explanation(-np.arange(120.0)), additive(np.full(120, 1 / 120))
    np.testing.assert_allclose(
        relative.relative_comprehensiveness(many, even, published=True), [np.mean(np.arange(0, 99, 2)) / 120]
    )
    np.testing.assert_allclose(
        relative.relative_sufficiency(many, even, published=True), [1 - np.mean(np.arange(2, 101, 2)) / 120]
    )
    np.testing.assert_allclose(relative.relative_comprehensiveness(many, even), [np.mean(np.arange(1, 101)) / 120])


def test_sufficiency_is_clipped_at_zero_where_a_part_scores_more_than_the_whole() -> None:
    # f(x) = 1; alone, the top word scores 3 and the top two 1
    made, game = explanation([2.0, 1.0]), additive([3.0, -2.0])
    np.testing.assert_allclose(relative.relative_sufficiency(made, game), [0.0])
    np.testing.assert_allclose(sufficiency(made, game), [-2.0])


def test_relative_values_of_scores_up_to_zero_are_undefined() -> None:
    made, game = explanation([[2.0, 1.0], [2.0, 1.0]]), additive([[-1.0, -2.0], [1.0, 2.0]])
    for measure in (relative.relative_comprehensiveness, relative.relative_sufficiency):
        assert np.isnan(measure(made, game)).tolist() == [True, False]


@pytest.mark.parametrize(("name", "settings"), EVERY)
def test_each_target_is_measured_by_its_own_scores(name: str, settings: dict[str, Any]) -> None:
    worth = np.asarray([[0.3, 0.1, 0.2, 0.05], [0.02, 0.2, 0.05, 0.4]])
    scores = np.asarray([[1.0, 4.0, 3.0, 2.0], [9.0, 1.0, 5.0, 2.0]])
    measure = METRICS[name].function
    together = measure(explanation(scores), probability(worth), **settings)
    alone = [measure(explanation(scores[i]), probability(worth[i]), **settings)[0] for i in range(2)]
    np.testing.assert_allclose(together, alone)
    shared = measure(explanation(scores[:1], targets=2), probability(worth), **settings)
    np.testing.assert_allclose(shared[1], measure(explanation(scores[0]), probability(worth[1]), **settings)[0])


@pytest.mark.parametrize(("name", "settings"), VARIANTS)
@given(st.integers(0, 10_000), st.integers(3, 9))
def test_the_true_explanation_is_as_good_as_any_and_better_than_the_reverse(
    name: str, settings: dict[str, Any], seed: int, n: int
) -> None:
    generator = np.random.default_rng(seed)
    worth = generator.permutation(n) * 0.3 + 0.1 + generator.random(n) * 0.2  # at least 0.1 apart, and above 0
    spec, game = METRICS[name], probability(worth)
    sign = 1 if spec.facts["higher_is_better"] else -1

    def value(scores: Floats) -> float:
        return sign * float(spec.function(explanation(scores), game, **settings)[0])

    truth = value(worth)
    assert truth >= value(generator.standard_normal(n)) - 1e-12
    assert truth > value(-worth) + 1e-9


@pytest.mark.parametrize(("name", "settings"), VARIANTS)
@given(st.lists(st.integers(-50, 50), min_size=3, max_size=9), st.integers(0, 1000))
def test_only_the_order_of_scores_counts(name: str, settings: dict[str, Any], scores: list[int], seed: int) -> None:
    assume(len(set(scores)) > 1)
    raw = np.asarray(scores, dtype=np.float64)
    game = probability(np.random.default_rng(seed).standard_normal(len(raw)))
    measure = METRICS[name].function
    for transformed in (raw * 3 + 7, np.exp(raw / 10), raw**3):
        np.testing.assert_array_equal(
            measure(explanation(raw), game, **settings), measure(explanation(transformed), game, **settings)
        )


@pytest.mark.parametrize(("name", "settings"), EVERY)
def test_every_distinct_coalition_is_asked_once(name: str, settings: dict[str, Any]) -> None:
    scores = np.asarray([[1.0, 4.0, 3.0, 2.0, 0.0], [1.0, 4.0, 3.0, 0.0, 2.0]])  # the top two are the same
    counted = Counted(np.asarray([[0.1, 0.2, 0.3, 0.4, 0.5], [0.5, 0.4, 0.3, 0.2, 0.1]]))
    METRICS[name].function(explanation(scores), counted.game, **settings)
    assert len(counted.rows) == len(set(counted.rows))
    assert counted.calls <= 3  # the coalitions, and at most the untouched and the empty input


def test_deletion_of_two_targets_asks_for_shared_coalitions_once() -> None:
    # k = 0, 1, 2, 3, 5 are shared, k = 4 is not: 5 + 2
    counted = Counted(np.ones((2, 5)))
    deletion_auc(explanation([[1.0, 4.0, 3.0, 2.0, 0.0], [0.0, 4.0, 3.0, 2.0, 1.0]]), counted.game)
    assert len(counted.rows) == 7


def test_metrics_of_one_game_share_the_untouched_and_the_empty_input() -> None:
    counted = Counted([0.1, 0.2, 0.3])
    made = explanation([3.0, 2.0, 1.0])
    for measure in (comprehensiveness, sufficiency, relative.normalised_comprehensiveness, deletion_auc, insertion_auc):
        measure(made, counted.game)
    whole, nothing = np.ones(3, dtype=bool).tobytes(), np.zeros(3, dtype=bool).tobytes()
    assert counted.rows.count(whole) == counted.rows.count(nothing) == 1


def test_a_game_of_other_features_is_refused() -> None:
    with pytest.raises(SettingError, match="3 features"):
        comprehensiveness(explanation([3.0, 2.0, 1.0]), additive([1.0, 2.0]))


@pytest.mark.parametrize(
    ("measure", "settings"),
    [
        (sufficiency, {"share": 0.0}),
        (log_odds, {"share": 1.1}),
        (relative.normalised_comprehensiveness, {"share": -1.0}),
        (relative.normalised_sufficiency, {"share": 2.0}),
        (aopc_comprehensiveness, {"steps": 0}),
        (aopc_sufficiency, {"steps": -1}),
        (deletion_auc, {"until": 0.0}),
        (insertion_auc, {"until": 1.5}),
        (relative.relative_comprehensiveness, {"words": 0}),
        (relative.relative_sufficiency, {"step": 0}),
    ],
)
def test_settings_that_mean_nothing_are_refused(measure: Callable[..., Floats], settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=next(iter(settings))):
        measure(explanation([3.0, 2.0, 1.0]), additive([0.1, 0.2, 0.3]), **settings)
