"""F-Fidelity where the answer is known, and within the share of the text that may go."""

from typing import Any

import numpy as np
import pytest
from metric_builders import additive, explanation

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.metrics.f_fidelity import f_fidelity_minus, f_fidelity_plus
from whylight.views.game import Game

N = 20
WORTH = np.stack([np.arange(N, 0, -1.0), np.arange(N) ** 2.0])  # [targets, features]
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
SIZES = (1, 2, 4, 10)
"""Features that these shares are, each number once."""


def test_of_an_additive_game_it_is_the_mean_worth_of_a_side_times_what_goes() -> None:
    """Draws are uniform, so that each feature of a side goes alike often; many draws come close to that."""
    game, made = additive(WORTH, base=1.0), explanation(WORTH)
    minus = f_fidelity_minus(made, game, draws=4000)
    for target, own in enumerate(-np.sort(-WORTH)):
        for alpha, gone in ((0.5, (1, 1, 2, 2)), (1.0, (1, 2, 2, 2))):
            plus = f_fidelity_plus(made, game, alpha=alpha, draws=4000)
            expected = [count * own[:k].mean() for k, count in zip(SIZES, gone, strict=True)]
            assert plus[target] == pytest.approx(np.mean(expected), rel=0.02)
        assert minus[target] == pytest.approx(np.mean([2 * own[k:].mean() for k in SIZES]), rel=0.02)


@pytest.mark.parametrize("metric", [f_fidelity_plus, f_fidelity_minus])
@pytest.mark.parametrize(("beta", "most"), [(0.1, 2), (0.01, 1), (0.29, 5), (1.0, 19)])
def test_no_more_goes_than_the_share_that_the_model_knows_and_at_least_one(metric: Any, beta: float, most: int) -> None:
    gone: list[int] = []

    def answer(keep: Bools) -> Floats:
        gone.extend((~keep).sum(1).tolist())
        return np.zeros((len(keep), 2))

    metric(explanation(WORTH), Game(answer, n_features=N, n_targets=2), alpha=1.0, beta=beta)
    assert gone.count(0) == 1  # the untouched text
    assert max(gone) == min(most, 10 if metric is f_fidelity_plus else 19)


def test_only_features_of_one_side_go() -> None:
    order = np.random.default_rng(3).permutation(N)
    scores = np.empty((1, N))
    scores[0, order] = np.arange(N, 0, -1.0)
    seen = np.zeros(N, dtype=bool)

    def answer(keep: Bools) -> Floats:
        seen[(~keep).any(0)] = True
        return np.zeros((len(keep), 1))

    f_fidelity_plus(explanation(scores), Game(answer, n_features=N, n_targets=1), draws=200)
    assert set(np.flatnonzero(seen)) == set(order[:10])
    seen[:] = False
    f_fidelity_minus(explanation(scores), Game(answer, n_features=N, n_targets=1), draws=200)
    assert set(np.flatnonzero(seen)) == set(order[1:])


def test_the_seed_decides_and_a_better_order_is_better() -> None:
    game = additive(WORTH[:1] ** 2)
    best, worst = explanation(WORTH[:1]), explanation(-WORTH[:1])
    assert f_fidelity_plus(best, game, seed=1) != f_fidelity_plus(best, game, seed=2)
    assert f_fidelity_plus(best, game, seed=1) == f_fidelity_plus(best, game, seed=1)
    assert f_fidelity_plus(best, game) > f_fidelity_plus(worst, game)
    assert f_fidelity_minus(best, game) < f_fidelity_minus(worst, game)


def test_where_the_top_features_are_all_there_are_there_is_no_other_side() -> None:
    one = explanation(np.ones((1, 1)))
    assert f_fidelity_plus(one, additive(np.ones((1, 1)))) == pytest.approx([1.0])
    assert np.isnan(f_fidelity_minus(one, additive(np.ones((1, 1))))).all()


@pytest.mark.parametrize(
    "settings", [{"beta": 0.0}, {"beta": 1.1}, {"alpha": 0.0}, {"alpha": 2.0}, {"draws": 0}, {"steps": 0}]
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=f"'{next(iter(settings))}' must"):
        f_fidelity_plus(explanation(WORTH), additive(WORTH), **settings)
