"""AOPC between its bounds, against brute force over all orders; and what a beam finds of them."""

from itertools import permutations
from math import comb
from typing import Any

import numpy as np
import pytest
from metric_builders import Counted, additive, explanation

from whylight.core.arrays import Floats, Ints
from whylight.core.errors import LimitError, SettingError
from whylight.metrics.normalised_aopc import (
    _aopc_bounds,
    normalised_aopc_comprehensiveness as comprehensiveness,
    normalised_aopc_sufficiency as sufficiency,
)
from whylight.views.game import Game

BOTH = (comprehensiveness, sufficiency)


def drawn_table(n: int, *, seed: int, targets: int = 1) -> Floats:
    """A score for each set of features, drawn."""
    return np.random.default_rng(seed).standard_normal((2**n, targets))


def game_of(table: Floats) -> Game:
    n = len(table).bit_length() - 1
    return Game(lambda keep: table[keep @ (1 << np.arange(n))], n_features=n, n_targets=table.shape[1])


def aopc(table: Floats, orders: Ints) -> Floats:
    """AOPC of orders `[orders, n]`, word for word as it is defined, `[orders, targets]`."""
    n = orders.shape[1]
    removed = np.cumsum(1 << orders, axis=1)  # sets of the first 1, 2, ..., n
    return np.asarray((table[-1] - table[2**n - 1 - removed]).mean(axis=1))


def every_order(n: int) -> Ints:
    return np.asarray(list(permutations(range(n))))


def scores_of(order: Any) -> Floats:
    """Scores that rank features in an order."""
    return -np.argsort(order).astype(np.float64)


def test_it_is_worked_out_by_hand() -> None:
    # words worth 4, 2, 1: falling order loses 4, 6, 7, rising 1, 3, 7; the order 1, 0, 2 loses 2, 6, 7
    game, made = additive([4.0, 2.0, 1.0]), explanation([2.0, 3.0, 1.0])
    np.testing.assert_allclose(comprehensiveness(made, game), [(15 - 11) / (17 - 11)])
    # from its end: 2, 0, 1 loses 1, 5, 7
    np.testing.assert_allclose(sufficiency(made, game), [(13 - 11) / (17 - 11)])


@pytest.mark.parametrize("n", [2, 3, 6, 8])
def test_it_is_that_of_brute_force_over_all_orders(n: int) -> None:
    table = drawn_table(n, seed=n, targets=2)
    values = aopc(table, every_order(n))
    lower, upper = values.min(axis=0), values.max(axis=0)
    scores = np.random.default_rng(0).integers(0, 4, size=(2, n))  # with ties, which go in reading order
    falling = np.argsort(-scores, axis=1, kind="stable")
    for measure, orders in ((comprehensiveness, falling), (sufficiency, falling[:, ::-1])):
        own = np.diagonal(aopc(table, orders))
        np.testing.assert_allclose(measure(explanation(scores), game_of(table)), (own - lower) / (upper - lower))


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_all_orders_has_1_and_the_worst_0(seed: int) -> None:
    table, orders = drawn_table(6, seed=seed), every_order(6)
    values = aopc(table, orders)[:, 0]
    best, worst = (explanation(scores_of(orders[i])) for i in (values.argmax(), values.argmin()))
    game = game_of(table)
    for measure, sign in ((comprehensiveness, 1), (sufficiency, -1)):
        found = [measure(explanation(sign * one.scores), game)[0] for one in (best, worst)]
        np.testing.assert_allclose(found, [1.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"exact": 0, "beam": 3}])
def test_scale_and_offset_of_the_score_do_not_matter_and_its_sign_turns_it_round(settings: dict[str, int]) -> None:
    table, made = drawn_table(7, seed=1), explanation(np.random.default_rng(2).standard_normal(7))
    for measure in BOTH:
        plain = measure(made, game_of(table), **settings)
        np.testing.assert_allclose(measure(made, game_of(1e-3 * table + 5), **settings), plain, atol=1e-9)
        np.testing.assert_allclose(measure(made, game_of(-2 * table), **settings), 1 - plain, atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_bounds_of_a_beam_lie_within_the_exact_ones_and_reach_them_where_it_holds_all_sets(seed: int) -> None:
    n = 7
    game = game_of(drawn_table(n, seed=seed, targets=2))
    exact = _aopc_bounds(game, n, 1)
    for beam in (1, 3, comb(n, n // 2)):
        found = _aopc_bounds(game, 0, beam)
        assert (found.lower >= exact.lower - 1e-12).all()
        assert (found.upper <= exact.upper + 1e-12).all()
        assert (found.lower <= found.upper).all()
    np.testing.assert_allclose([found.lower, found.upper], [exact.lower, exact.upper])


def test_a_beam_keeps_the_best_sets_of_removed_features() -> None:
    n, beam = 8, 3
    table = drawn_table(n, seed=4)
    for sign, found in ((1, "upper"), (-1, "lower")):
        best = {0: 0.0}  # what the best order of each set has lost so far
        for _ in range(n):
            longer: dict[int, float] = {}
            for gone, total in best.items():
                for i in (i for i in range(n) if not gone >> i & 1):
                    drop = float(sign * (table[-1] - table[2**n - 1 - (gone | 1 << i)])[0])
                    longer[gone | 1 << i] = max(longer.get(gone | 1 << i, -np.inf), total + drop)
            best = dict(sorted(longer.items(), key=lambda one: -one[1])[:beam])
        np.testing.assert_allclose(getattr(_aopc_bounds(game_of(table), 0, beam), found), [sign * best[2**n - 1] / n])


def test_an_order_that_no_beam_finds_moves_the_bound() -> None:
    """A greedy search takes feature 0, which alone counts most, and misses that 1 and 2 count more together."""
    worth = {0: 0.0, 0b001: 1.0, 0b010: 0.0, 0b100: 0.0, 0b110: 9.0, 0b011: 1.0, 0b101: 1.0, 0b111: 9.0}  # when gone
    game = game_of(-np.asarray([[worth[7 ^ present]] for present in range(8)]))
    greedy = _aopc_bounds(game, 0, 1)
    better = explanation([1.0, 3.0, 2.0])
    assert greedy.upper == pytest.approx((1 + 1 + 9) / 3)
    np.testing.assert_allclose(comprehensiveness(better, game, exact=0, beam=1), [1.0])  # (0 + 9 + 9) / 3
    for order in permutations(range(3)):
        for measure in BOTH:
            assert 0 <= measure(explanation(scores_of(order)), game, exact=0, beam=1)[0] <= 1


@pytest.mark.parametrize("settings", [{}, {"exact": 0}])
def test_where_no_order_is_better_than_another_there_is_no_value(settings: dict[str, int]) -> None:
    """In a constant game, in one where all words are worth the same, and of one word or none."""
    alike = additive([[0.1] * 5, [0.1, 0.1, 0.1, 0.1, 0.2]])
    constant = Game(lambda keep: np.full((len(keep), 1), 0.7), n_features=5)
    for measure in BOTH:
        made = explanation([[3.0, 1.0, 2.0, 5.0, 4.0]] * 2)
        assert np.isnan(measure(made, alike, **settings)).tolist() == [True, False]
        assert np.isnan(measure(explanation([3.0, 1.0, 2.0, 5.0, 4.0]), constant, **settings)).all()
        assert np.isnan(measure(explanation([1.0]), additive([1.0]), **settings)).all()
        assert np.isnan(measure(explanation(np.zeros((1, 0))), additive(np.zeros((1, 0))), **settings)).all()


@pytest.mark.parametrize("settings", [{}, {"exact": 0, "beam": 2}])
def test_explanations_of_a_game_share_its_bounds(settings: dict[str, int]) -> None:
    counted = Counted(np.random.default_rng(0).standard_normal((2, 6)))
    drawn = np.random.default_rng(1).standard_normal((4, 2, 6))
    for scores in drawn:
        for measure in BOTH:
            measure(explanation(scores), counted.game, **settings)
    assert len(counted.rows) == len(set(counted.rows)) <= 2**6


def test_a_beam_costs_what_is_written() -> None:
    n, beam = 12, 3
    counted = Counted(np.random.default_rng(0).standard_normal(n))
    _aopc_bounds(counted.game, 10, beam)
    assert len(counted.rows) <= beam * n * (n + 1) + 1


def test_a_text_that_is_too_long_for_the_memory_is_refused_before_anything_is_asked() -> None:
    counted = Counted(np.zeros(200_000))
    with pytest.raises(LimitError, match="200,000 features"):
        _aopc_bounds(counted.game, 10, 5)
    assert not counted.rows


def test_settings_that_mean_nothing_are_refused() -> None:
    made, game = explanation([3.0, 2.0, 1.0]), additive([0.1, 0.2, 0.3])
    for measure in BOTH:
        with pytest.raises(SettingError, match="'exact'"):
            measure(made, game, exact=-1)
        with pytest.raises(SettingError, match="'beam'"):
            measure(made, game, beam=0)
        with pytest.raises(SettingError, match="3 features"):
            measure(made, additive([1.0, 2.0]))
