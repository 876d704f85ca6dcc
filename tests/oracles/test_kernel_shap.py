"""KernelSHAP: its coalitions, their weights, its regression, and what it predicts of what that leaves over."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, strategies as st
from known_games import GAMES, WORTH, additive, game, interactions, majority, shapley_by_brute_force

from whylight.core.arrays import Floats
from whylight.core.errors import SettingError
from whylight.methods import kernel_shap as kernel_shap_file
from whylight.methods._regression import constrained
from whylight.methods._remainder import _shapley_of_covariance, shapley_of_remainder
from whylight.methods.kernel_shap import coalitions, kernel_shap
from whylight.views.game import Game


@pytest.mark.parametrize("samples", [40, 50, 126, 500])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_kernel_shap_of_an_additive_game_is_exact_with_few_samples(samples: int, seed: int) -> None:
    np.testing.assert_allclose(kernel_shap(additive(), samples=samples, seed=seed).values, WORTH, atol=1e-9)


@pytest.mark.parametrize("name", GAMES)
def test_kernel_shap_with_all_coalitions_gives_shapley_values(name: str) -> None:
    expected = shapley_by_brute_force(GAMES[name], 8)
    found = kernel_shap(game(GAMES[name], 8), samples=2**8 - 2).values
    np.testing.assert_allclose(found[0], expected, atol=1e-6)


@given(n=st.integers(2, 11), samples=st.integers(1, 400), seed=st.integers(0, 5))
def test_coalitions_are_distinct_paired_and_never_trivial(n: int, samples: int, seed: int) -> None:
    keep, weights = coalitions(n, samples, np.random.default_rng(seed))
    assert keep.shape == (len(weights), n)
    assert len({row.tobytes() for row in keep}) == len(keep)
    assert (keep[0::2] == ~keep[1::2]).all()
    sizes = keep.sum(1)
    assert ((sizes > 0) & (sizes < n)).all()
    assert (weights > 0).all()
    assert len(keep) <= max(2, samples)
    if samples >= 2**n - 2:
        assert len(keep) == 2**n - 2


def kernel(n: int) -> Floats:
    """The weight of one coalition of each size from 1 to n - 1."""
    return np.asarray([(n - 1) / (comb(n, s) * s * (n - s)) for s in range(1, n)])


@given(n=st.integers(2, 11), samples=st.integers(1, 3000), seed=st.integers(0, 5))
def test_the_weights_are_the_mass_of_the_kernel_and_with_all_coalitions_the_kernel(
    n: int, samples: int, seed: int
) -> None:
    keep, weights = coalitions(n, samples, np.random.default_rng(seed))
    count = np.asarray([comb(n, s) for s in range(1, n)])
    np.testing.assert_allclose(weights.sum(), (kernel(n) * count).sum())
    np.testing.assert_allclose(weights[0::2], weights[1::2])
    if samples >= 2**n - 2:
        np.testing.assert_allclose(weights, kernel(n)[keep.sum(1) - 1])


@pytest.mark.parametrize(("n", "samples"), [(6, 2), (6, 20), (7, 30), (8, 60), (9, 40)])
def test_on_average_each_size_weighs_what_the_kernel_gives_it(n: int, samples: int) -> None:
    total = np.zeros(n - 1)
    for seed in range(1000):
        keep, weights = coalitions(n, samples, np.random.default_rng(seed))
        total += np.bincount(keep.sum(1) - 1, weights=weights, minlength=n - 1)
    mass = kernel(n) * [comb(n, s) for s in range(1, n)]
    np.testing.assert_allclose(total / 1000, mass, atol=0.1 * mass.max())


@pytest.mark.parametrize("n", [5, 6, 8])
def test_sizes_are_drawn_as_often_as_the_kernel_weighs_them(n: int) -> None:
    """A budget of one pair: the chance of each size is its share of the kernel's mass."""
    sizes = [int(coalitions(n, 2, np.random.default_rng(seed))[0][0].sum()) for seed in range(3000)]
    found = np.bincount([min(s, n - s) for s in sizes], minlength=n // 2 + 1)[1:] / len(sizes)
    mass = np.asarray([(1 if 2 * s == n else 2) / (s * (n - s)) for s in range(1, n // 2 + 1)])
    np.testing.assert_allclose(found, mass / mass.sum(), atol=0.03)


@pytest.mark.parametrize("n", [1500, 1501])
def test_coalitions_of_more_features_than_a_float_can_count_are_drawn(n: int) -> None:
    keep, weights = coalitions(n, 60, np.random.default_rng(0))
    assert keep.shape == (60, n)
    np.testing.assert_allclose(weights.sum(), sum((n - 1) / (s * (n - s)) for s in range(1, n)))


def test_too_few_samples_for_the_number_of_features_are_not_passed_over_in_silence() -> None:
    """A pair gives one equation; with fewer pairs than unknowns the regression has no one answer."""
    worth = np.random.default_rng(0).standard_normal((1, 40))
    with pytest.raises(
        SettingError, match="60 samples do not determine the scores of 40 features; set 'samples' to 160"
    ):
        kernel_shap(additive(worth), samples=60)
    np.testing.assert_allclose(kernel_shap(additive(worth), samples=82).values, worth, atol=1e-6)


def table_game(values: Floats, targets: slice = slice(None)) -> Game:
    """A game whose values of all coalitions are given, `[2^n, targets]`."""
    n = int(np.log2(len(values)))
    chosen = values[:, targets]
    return Game(lambda keep: chosen[keep @ (1 << np.arange(n))], n_features=n, n_targets=chosen.shape[1])


def regression_alone(players: Game, *, samples: int, seed: int) -> Floats:
    keep, weights = coalitions(players.n_features, samples, np.random.default_rng(seed))
    return constrained(keep, players(keep) - players.empty, weights, total=players.full - players.empty)


def errors(players: Game, exact: Floats, *, samples: int) -> tuple[float, float]:
    """Mean squared errors of KernelSHAP and of its regression alone, over some seeds."""
    found = [kernel_shap(players, samples=samples, seed=seed).values for seed in range(10)]
    plain = [regression_alone(players, samples=samples, seed=seed) for seed in range(10)]
    return float(np.mean((np.stack(found) - exact) ** 2)), float(np.mean((np.stack(plain) - exact) ** 2))


def test_products_of_few_features_cost_kernel_shap_little() -> None:
    """The regression alone takes a product of three for noise."""
    triples = np.random.default_rng(0).permuted(np.tile(np.arange(11), (20, 1)), axis=1)[:, :3]
    worth = np.random.default_rng(1).standard_normal(20)
    exact = np.zeros(11)
    np.add.at(exact, triples, worth[:, None] / 3)
    ours, plain = errors(game(lambda z: z[:, triples].prod(2) @ worth, 11), exact, samples=300)
    assert ours < plain / 5


def test_a_game_without_any_order_costs_kernel_shap_nothing() -> None:
    values = np.random.default_rng(0).standard_normal((2**10, 6))
    players = table_game(values)
    exact = kernel_shap(players, samples=2**10).values
    ours, plain = errors(players, exact, samples=300)
    assert ours < 1.05 * plain


def test_a_target_gets_the_same_shapley_values_alone_and_among_others() -> None:
    every = ((np.arange(2**9)[:, None] >> np.arange(9)) & 1).astype(float)
    noise = np.random.default_rng(0).standard_normal(2**9)
    values = np.stack([1000 * interactions(every), noise, majority(every[:, :8])], axis=1)
    together = kernel_shap(table_game(values), samples=200).values
    for target in range(3):
        alone = kernel_shap(table_game(values, slice(target, target + 1)), samples=200).values
        np.testing.assert_allclose(together[target], alone[0], atol=1e-9 * np.abs(values[:, target]).max())


@pytest.mark.parametrize("t", [0.5, 4.0, 30.0])
def test_the_shapley_values_of_the_covariance_are_those_of_brute_force(t: float) -> None:
    points = np.asarray([[1, 1, 1, 1, 1], [1, -1, 1, 1, -1], [-1, -1, -1, 1, -1]], dtype=float)
    for point, found in zip(points, _shapley_of_covariance(points, t), strict=True):

        def covariance(z: Floats, point: Floats = point) -> Floats:
            u = (2 * z - 1) @ point / 5
            return (np.sinh(t * u) - t * u) * np.exp(-t)

        np.testing.assert_allclose(found, shapley_by_brute_force(covariance, 5), atol=1e-12)


def test_of_many_pairs_some_predict_the_others_and_more_samples_never_bring_more_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    players, last = game(GAMES["interactions"], 12), np.inf
    exact = kernel_shap(players, samples=2**12).values
    monkeypatch.setattr(kernel_shap_file, "PAIRS_AT_MOST", 250)
    for samples in (490, 510, 1000, 2000):
        ours, plain = errors(players, exact, samples=samples)
        assert ours < plain / 10
        assert ours < last
        last = ours
    np.testing.assert_allclose(kernel_shap(players, samples=2**12).values, exact, atol=1e-12)


def test_what_predicts_goes_through_the_points_it_knows() -> None:
    generator = np.random.default_rng(0)
    points = np.unique(generator.choice([-1.0, 1.0], size=(40, 7)), axis=0)
    points = points[points[:, 0] > 0]  # an odd function has the opposite value at the opposite point
    values = generator.standard_normal((len(points), 2))
    found = shapley_of_remainder(points, values, np.ones(len(points)))
    np.testing.assert_allclose(found.predict(points), values, atol=1e-6)
    np.testing.assert_allclose(found.predict(-points), -values, atol=1e-6)
    every = 2.0 * ((np.arange(2**7)[:, None] >> np.arange(7)) & 1) - 1
    whole = table_game(found.predict(every))
    np.testing.assert_allclose(found.shapley, kernel_shap(whole, samples=2**7).values, atol=1e-9)


def test_with_too_many_features_the_regression_stands_alone_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_shap_file, "PAIRS_AT_MOST", 12)
    players = game(GAMES["interactions"], 8)
    found = kernel_shap(players, samples=100)
    np.testing.assert_array_equal(found.values, regression_alone(players, samples=100, seed=0))
    assert found.notes == ("8 features are too many to correct the regression for products of features",)


@pytest.mark.parametrize("n", [4, 6, 13, 17])
def test_kernel_shap_of_few_coalitions_is_finite_and_complete_whatever_the_game(n: int) -> None:
    slopes = np.random.default_rng(n).normal(size=n)
    games = {
        "constant": game(lambda keep: np.full(len(keep), 3.0), n),
        "additive": game(lambda keep: keep @ slopes, n),
        "bent": game(lambda keep: np.tanh(keep @ slopes), n),
        "a step": game(lambda keep: (keep @ slopes > 0).astype(float), n),
    }
    for name, one in games.items():
        for samples in range(2 * n, 3 * n):
            scores = kernel_shap(one, samples=samples).values
            np.testing.assert_allclose(scores.sum(), one.full[0] - one.empty[0], atol=1e-9)
            if name in {"constant", "additive"}:
                np.testing.assert_allclose(scores[0], slopes if name == "additive" else 0, atol=1e-6)
