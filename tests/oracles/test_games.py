"""Methods on games whose answers are known in closed form, or by brute force."""

from collections.abc import Callable

import numpy as np
import pytest
from known_games import GAMES, WORTH, additive, game, interactions, majority, shapley_by_brute_force
from sklearn.linear_model import Ridge

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.core.registry import METHODS
from whylight.core.scores import Scores
from whylight.methods.kernel_shap import kernel_shap
from whylight.methods.lime import lime
from whylight.methods.occlusion import occlusion
from whylight.methods.random import random
from whylight.methods.shapley_sampling import shapley_sampling
from whylight.views.game import Game


def test_occlusion_of_an_additive_game_is_what_each_feature_is_worth() -> None:
    np.testing.assert_allclose(occlusion(additive()), WORTH, atol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 10])
def test_shapley_sampling_of_an_additive_game_is_exact_with_one_order(count: int) -> None:
    np.testing.assert_allclose(shapley_sampling(additive(), permutations=count).values, WORTH, atol=1e-12)


def test_the_features_of_an_additive_game_keep_their_order_in_lime() -> None:
    scores = lime(additive(), samples=2000).values
    assert (np.argsort(scores, axis=1) == np.argsort(WORTH, axis=1)).all()
    np.testing.assert_allclose(scores, WORTH, atol=0.1)


def test_one_player_gets_everything() -> None:
    alone = Game(lambda keep: np.where(keep, [[3.0, -1.0]], [[1.0, 1.0]]), n_features=1, n_targets=2)
    for scores in (
        occlusion(alone),
        kernel_shap(alone).values,
        shapley_sampling(alone).values,
        occlusion(alone, window=5),
    ):
        np.testing.assert_allclose(scores, [[2.0], [-2.0]], atol=1e-12)


def test_the_shapley_values_of_the_brute_force_are_those_of_the_textbook() -> None:
    np.testing.assert_allclose(shapley_by_brute_force(lambda z: z[:, 0] * z[:, 1], 3), [0.5, 0.5, 0.0], atol=1e-12)
    gloves = shapley_by_brute_force(lambda z: np.minimum(z[:, 0] + z[:, 1], z[:, 2]), 3)
    np.testing.assert_allclose(gloves, [1 / 6, 1 / 6, 4 / 6], atol=1e-12)


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("method", [kernel_shap, shapley_sampling])
def test_shapley_estimates_converge_and_sum_to_the_difference(name: str, method: Callable[..., Scores]) -> None:
    budget = {"samples": 180} if method is kernel_shap else {"permutations": 400}
    expected = shapley_by_brute_force(GAMES[name], 8)
    players = game(GAMES[name], 8)
    found = np.mean([method(players, seed=seed, **budget).values for seed in range(8)], axis=0)[0]
    np.testing.assert_allclose(found, expected, atol=0.1)
    one = method(players, seed=3, **budget)
    np.testing.assert_allclose(one.gap, 0, atol=1e-9)
    np.testing.assert_allclose(one.values.sum(1), players.full - players.empty, atol=1e-9)


@pytest.mark.parametrize("sampler", ["uniform", "spans"])
@pytest.mark.parametrize("alpha", [1.0, 0.01])
def test_lime_is_the_ridge_regression_of_scikit_learn(sampler: str, alpha: float) -> None:
    seen = list[Bools]()

    def value(keep: Bools) -> Floats:
        seen.append(keep)
        z = keep.astype(float)
        return np.stack([interactions(z), majority(z)], axis=1)

    scores = lime(Game(value, n_features=8, n_targets=2), samples=200, alpha=alpha, sampler=sampler, seed=4).values  # type: ignore[arg-type]
    (keep,) = seen
    assert keep[0].all()
    assert len(keep) == 201
    cosine = np.asarray([row.sum() / (np.linalg.norm(row) * np.sqrt(8)) if row.any() else 0.0 for row in keep * 1.0])
    weights = np.sqrt(np.exp(-((100 * (1 - cosine)) ** 2) / 25**2))
    ridge = Ridge(alpha=alpha, fit_intercept=True)
    ridge.fit(keep.astype(float), value(keep), sample_weight=weights)
    np.testing.assert_allclose(scores, ridge.coef_, atol=1e-9)


def test_lime_removes_uniformly_many_features_and_each_alike() -> None:
    seen = list[Bools]()

    def value(keep: Bools) -> Floats:
        seen.append(keep)
        return np.zeros((len(keep), 1))

    lime(Game(value, n_features=5), samples=10_000)
    drawn = seen[0][1:]
    removed = 5 - drawn.sum(1)
    np.testing.assert_allclose(np.bincount(removed, minlength=6) / len(drawn), [0, *[0.2] * 5], atol=0.02)
    np.testing.assert_allclose(1 - drawn.mean(0), [0.6] * 5, atol=0.02)


def test_spans_are_four_features_long() -> None:
    seen = list[Bools]()

    def value(keep: Bools) -> Floats:
        seen.append(keep)
        return np.zeros((len(keep), 1))

    lime(Game(value, n_features=40), samples=300, sampler="spans")
    for row in seen[0][1:]:
        removed = np.flatnonzero(~row)
        starts = [i for i in removed if i - 1 not in removed]
        for start in starts:
            length = next(k for k in range(1, 41) if start + k not in removed)
            assert length >= 4 or start + length == 40
        assert 1 <= len(removed) <= 4 * round(0.13 * 40)


def test_a_window_of_three_gives_each_feature_the_mean_drop_of_the_windows_that_cover_it() -> None:
    # f = 1 a + 2 b + 4 c + 8 d + 10 if both c and d are there; full = 25
    value = game(lambda z: z @ np.asarray([1.0, 2, 4, 8]) + 10 * z[:, 2] * z[:, 3], 4)
    without_abc, without_bcd = 25 - 8, 25 - 1
    expected = [without_abc, (without_abc + without_bcd) / 2, (without_abc + without_bcd) / 2, without_bcd]
    np.testing.assert_allclose(occlusion(value, window=3)[0], expected)
    np.testing.assert_allclose(occlusion(value, window=9)[0], [25.0] * 4)


def test_occlusion_asks_for_each_leave_one_out_once() -> None:
    asked = list[Bools]()

    def value(keep: Bools) -> Floats:
        asked.append(keep)
        return keep.sum(1, keepdims=True) * 1.0

    occlusion(Game(value, n_features=5))
    rows = {row.tobytes() for keep in asked for row in keep}
    assert len(rows) == 6


def test_random_scores_are_standard_normal() -> None:
    scores = random(additive(np.zeros((3, 20_000))), seed=1)
    assert scores.shape == (3, 20_000)
    assert abs(scores.mean()) < 0.02
    assert abs(scores.std() - 1) < 0.02


@pytest.mark.parametrize(
    ("method", "setting"),
    [
        (occlusion, {"window": 0}),
        (occlusion, {"stride": 0}),
        (occlusion, {"stride": 2}),
        (kernel_shap, {"samples": 0}),
        (shapley_sampling, {"permutations": 0}),
        (lime, {"samples": 0}),
        (lime, {"alpha": 0.0}),
        (lime, {"seed": -1}),
        (kernel_shap, {"seed": -1}),
        (shapley_sampling, {"seed": -1}),
        (random, {"seed": -1}),
    ],
)
def test_settings_that_mean_nothing_are_refused(method: Callable[..., Floats], setting: dict[str, float]) -> None:
    with pytest.raises(SettingError, match=next(iter(setting))):
        method(additive(), **METHODS[method.__name__].complete_settings(setting))
