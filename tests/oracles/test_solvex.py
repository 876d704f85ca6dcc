"""Solvex against brute force over all orders, and against the search as it was published."""

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.methods.solvex import Objective, solvex
from whylight.views.game import Game

OBJECTIVES: tuple[Objective, ...] = ("comp_suff", "comp", "suff")


class Counted:
    """A game of one target whose values are drawn, sets apart; it counts the coalitions that it is asked for."""

    def __init__(self, n: int, seed: int) -> None:
        generator = np.random.default_rng(seed)
        self.n, self.table = n, generator.random(2**n)
        self.asked: set[int] = set()

    def of(self, chosen: int) -> float:
        self.asked.add(chosen)
        return float(self.table[chosen])

    def game(self) -> Game:
        def value(keep: Bools) -> Floats:
            numbers = (keep @ (1 << np.arange(self.n))).tolist()
            return np.asarray([[self.of(int(one))] for one in numbers])

        return Game(value, n_features=self.n)


def worth(of: Callable[[int], float], n: int, order: tuple[int, ...], objective: Objective) -> float:
    total, chosen, everything = 0.0, 0, (1 << n) - 1
    for i in order:
        chosen |= 1 << i
        total += (of(chosen) if objective != "comp" else 0.0) - (
            of(everything ^ chosen) if objective != "suff" else 0.0
        )
    return total


def order_of(scores: Floats) -> tuple[int, ...]:
    return tuple(np.argsort(-scores, kind="stable").tolist())


def published(of: Callable[[int], float], n: int, beam: int) -> tuple[int, ...]:
    """The beam over partial orders as Zhou and Shah describe it: identical sets are scored once, orders are kept."""
    known: dict[int, float] = {}

    def score(chosen: int) -> float:
        if chosen not in known:
            known[chosen] = of(chosen) - of(((1 << n) - 1) ^ chosen)
        return known[chosen]

    orders: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for _ in range(n):
        longer = [
            (total + score(sum(1 << j for j in (*order, i))), (*order, i))
            for total, order in orders
            for i in range(n)
            if i not in order
        ]
        orders = sorted(longer, key=lambda one: -one[0])[:beam]
    return orders[0][1]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(4))
def test_a_wide_beam_finds_the_best_of_all_orders(objective: Objective, seed: int) -> None:
    subject = Counted(6, seed)
    found = order_of(solvex(subject.game(), objective=objective, beam=1000).values[0])
    best = max(worth(subject.of, 6, order, objective) for order in permutations(range(6)))
    assert worth(subject.of, 6, found, objective) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("beam", [1, 3, 10])
def test_it_is_never_worse_than_the_published_search_and_asks_for_no_more(beam: int) -> None:
    for seed in range(30):
        ours, theirs = Counted(9, seed), Counted(9, seed)
        found = order_of(solvex(ours.game(), beam=beam).values[0])
        spent = len(ours.asked)
        reference = published(theirs.of, 9, beam)
        assert spent <= len(theirs.asked | {0, 2**9 - 1})
        gain = worth(ours.of, 9, found, "comp_suff") - worth(theirs.of, 9, reference, "comp_suff")
        assert gain >= -1e-12


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("most", [21, 25, 40, 100, 10_000])
def test_it_never_spends_more_than_it_may(objective: Objective, most: int) -> None:
    subject = Counted(10, 0)
    found = solvex(subject.game(), objective=objective, beam=50, max_evaluations=most)
    assert len(subject.asked) <= most
    assert sorted(order_of(found.values[0])) == list(range(10))
    assert bool(found.notes) == (most <= 100)


def test_too_few_evaluations_are_refused_with_the_least_number() -> None:
    with pytest.raises(SettingError, match="at least 21"):
        solvex(Counted(10, 0).game(), max_evaluations=20)
    with pytest.raises(SettingError, match="'beam'"):
        solvex(Counted(3, 0).game(), beam=0)


def test_the_signs_are_those_of_the_features_alone() -> None:
    """In an additive game the best order is that of what features are worth, and signs agree everywhere."""
    worths = np.asarray([[0.3, -0.2, 0.05, -0.4, 0.1]])
    game = Game(lambda keep: 0.5 + keep @ worths.T, n_features=5)
    for objective in OBJECTIVES:
        scores = solvex(game, objective=objective, beam=5).values[0]
        assert order_of(scores) == order_of(worths[0])
        assert np.sign(scores).tolist() == np.sign(worths[0]).tolist()


def test_targets_share_what_is_known_and_not_what_is_found() -> None:
    one, two = Counted(7, 1), Counted(7, 2)
    asked: list[int] = []

    def value(keep: Bools) -> Floats:
        numbers = (keep @ (1 << np.arange(7))).tolist()
        asked.extend(numbers)
        return np.asarray([[one.of(int(i)), two.of(int(i))] for i in numbers])

    both = solvex(Game(value, n_features=7, n_targets=2), beam=4).values
    assert np.array_equal(both[0], solvex(one.game(), beam=4).values[0])
    assert np.array_equal(both[1], solvex(two.game(), beam=4).values[0])
    assert len(asked) <= len(set(asked)) + 2  # the untouched and the empty one may be asked for by the game itself
