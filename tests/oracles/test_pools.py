"""Coalitions from pools: the kernel's distribution, shared encodings, and Shapley values that are still right."""

from functools import cache
from math import comb
from typing import Any

import numpy as np
import pytest

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.methods._pools import RATES, from_pools, owned, uniform_rates
from whylight.methods.kernel_shap import kernel_shap, shared_coalitions
from whylight.methods.lime import lime
from whylight.views.game import Game

BLOCKS = (np.arange(0, 4), np.arange(3, 8), np.arange(8, 11))  # 3 is in two of them, 11 in none
N = 12


def game(value: Any = None, *, n: int = N, blocks: Any = BLOCKS, n_targets: int = 1) -> Game:
    return Game(
        value or (lambda keep: keep.sum(1, keepdims=True) * 1.0), n_features=n, blocks=blocks, n_targets=n_targets
    )


@cache
def drawn(pool: int) -> Bools:
    """Coalitions of many independent pools, two a rate."""
    each = (shared_coalitions(game(), 4 * RATES, pool, np.random.default_rng(seed))[0] for seed in range(2500))
    return np.concatenate(list(each))


def test_blocks_are_made_disjoint_and_no_feature_is_lost() -> None:
    assert [block.tolist() for block in owned(BLOCKS, N)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10], [11]]
    assert [block.tolist() for block in owned((np.asarray([1, 0]),), 2)] == [[0, 1]]


@pytest.mark.parametrize("pool", [1, 3])
def test_on_average_the_sizes_are_those_of_the_shapley_kernel(pool: int) -> None:
    keep = drawn(pool)
    sizes = keep.sum(1)
    found = np.bincount(sizes, minlength=N + 1) / len(keep)
    assert found[0] == found[N] < 1e-3  # all features at once, which is one chance in thousands
    mass = 1 / (np.arange(1, N) * (N - np.arange(1, N)))
    np.testing.assert_allclose(found[1:N], mass / mass.sum(), atol=0.006)
    np.testing.assert_allclose(keep.mean(0), 0.5, atol=1e-9)  # every coalition comes with its complement


@pytest.mark.parametrize("size", [1, 2, 3])
def test_coalitions_of_a_size_are_drawn_alike(size: int) -> None:
    """Whether its features stand in one block or in several."""
    keep = drawn(3)
    some = keep[keep.sum(1) == size]
    _, counts = np.unique(np.packbits(some, axis=1), axis=0, return_counts=True)
    assert len(counts) == comb(N, size)
    expected = len(some) / comb(N, size)
    # draws that share a variant come several at a time, which widens the spread beyond a Poisson's
    assert np.abs(counts / expected - 1).mean() < 2.5 / np.sqrt(expected)
    inside = np.asarray([(row[:4].sum() == size) for row in some]).mean()
    assert inside == pytest.approx(comb(4, size) / comb(N, size), abs=0.02)


def test_the_sizes_of_lime_are_uniform() -> None:
    total = np.zeros(N + 1)
    for seed in range(1500):
        generator = np.random.default_rng(seed)
        rates = uniform_rates(generator)
        keep = from_pools(game(), rates, pool=2, count=2 * RATES, generator=generator, empty=True)
        total += np.bincount(keep.sum(1), minlength=N + 1)
    np.testing.assert_allclose(total / total.sum(), 1 / (N + 1), atol=0.006)


@pytest.mark.parametrize("pool", [1, 2, 5])
def test_blocks_have_no_more_variants_than_their_pools(pool: int) -> None:
    blocks = tuple(np.arange(start, start + 20) for start in range(0, 100, 20))
    keep, weights = shared_coalitions(game(n=100, blocks=blocks), 4000, pool, np.random.default_rng(0))
    assert keep.shape == (4000, 100)
    assert (weights == 1).all()
    for block in blocks:
        distinct = len(np.unique(keep[:, block], axis=0))
        assert distinct <= 2 * (RATES * pool + 1)  # with complements; nothing and everything are free
        assert distinct > RATES * pool / 2
    assert len(np.unique(keep, axis=0)) > (1000 if pool > 1 else RATES)


def test_an_additive_game_stays_exact() -> None:
    worth = np.random.default_rng(0).standard_normal((2, N))
    found = kernel_shap(game(lambda keep: 3 + keep @ worth.T, n_targets=2), samples=400, pool=4).values
    np.testing.assert_allclose(found, worth, atol=1e-9)


def planted(n_blocks: int, size: int, seed: int = 0) -> tuple[Game, Floats]:
    """A game that is a sum over blocks, with products of three within each: its Shapley values are known.

    Products of two would cost no method that pairs coalitions with complements anything.
    """
    generator = np.random.default_rng(seed)
    blocks = tuple(np.arange(number * size, (number + 1) * size) for number in range(n_blocks))
    worth = generator.standard_normal(n_blocks * size)
    three = np.concatenate([generator.permuted(np.tile(block, (size, 1)), axis=1)[:, :3] for block in blocks])
    gains = generator.standard_normal(len(three))
    values = worth.copy()
    np.add.at(values, three, gains[:, None] / 3)

    def value(keep: Bools) -> Floats:
        return np.asarray((keep @ worth + keep[:, three].all(2) @ gains)[:, None])

    return Game(value, n_features=len(worth), blocks=blocks), values


@pytest.mark.slow
def test_pools_reach_the_error_of_independent_draws_with_a_fraction_of_the_encodings() -> None:
    asked: list[Bools] = []

    def watched(keep: Bools) -> Floats:
        asked.append(keep)
        return inner(keep)

    found: dict[int | None, tuple[float, int]] = {}
    for pool in (None, 4):
        errors = []
        for seed in range(3):
            asked.clear()
            players, values = planted(24, 12, seed)
            inner = players._value
            players._value = watched
            samples = (4 if pool is None else 8) * 288  # more coalitions of the same variants cost no encoding
            errors.append(
                np.mean((kernel_shap(players, samples=samples, pool=pool, seed=seed).values[0] - values) ** 2)
            )
        keep = np.concatenate(asked)
        distinct = sum(len(np.unique(keep[:, block], axis=0)) for block in players.blocks)
        found[pool] = (float(np.mean(errors)), distinct)
    assert found[4][0] < 1.3 * found[None][0]
    assert found[4][1] < found[None][1] / 3


def test_more_variants_bring_less_error() -> None:
    errors = {}
    for pool in (2, 16):
        players = [planted(6, 12, seed) for seed in range(4)]
        errors[pool] = np.mean(
            [(kernel_shap(p, samples=1500, pool=pool).values[0] - values) ** 2 for p, values in players]
        )
    assert errors[16] < errors[2] / 2


@pytest.mark.parametrize("method", [kernel_shap, lime])
def test_one_block_has_nothing_to_share_and_the_receipt_says_so(method: Any) -> None:
    worth = np.random.default_rng(0).standard_normal((1, 9))
    plain = Game(lambda keep: keep @ worth.T, n_features=9)
    pooled = Game(lambda keep: keep @ worth.T, n_features=9)
    alone, shared = method(plain), method(pooled, pool=4)
    np.testing.assert_array_equal(alone.values, shared.values)
    assert alone.notes == ()
    (note,) = shared.notes
    assert "nothing to share" in note


@pytest.mark.parametrize("method", [kernel_shap, lime])
def test_shared_draws_are_said_in_the_receipt_and_repeat(method: Any) -> None:
    players, _ = planted(5, 6)
    one, again, other = (method(players, samples=600, pool=3, seed=seed) for seed in (1, 1, 2))
    assert one.values.tobytes() == again.values.tobytes() != other.values.tobytes()
    (note,) = one.notes
    assert note.startswith(
        f"inputs without some features share 3 variants of each of 5 blocks at each of {RATES} rates"
    )
    assert "not independent" in note


def test_the_features_of_an_additive_game_keep_their_order_in_pooled_lime() -> None:
    worth = np.linspace(-3, 3, N)[None] * [[1], [-2]]
    found = lime(game(lambda keep: keep @ worth.T, n_targets=2), samples=2000, pool=8).values
    assert (np.argsort(found, axis=1) == np.argsort(worth, axis=1)).all()


@pytest.mark.parametrize(
    ("method", "settings", "says"),
    [
        (kernel_shap, {"pool": 0}, "'pool' must be at least 1"),
        (lime, {"pool": -2}, "'pool' must be at least 1"),
        (lime, {"pool": 2, "sampler": "spans"}, "sampler='uniform'"),
    ],
)
def test_pools_that_mean_nothing_are_refused(method: Any, settings: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingError, match=says):
        method(game(), **settings)


def test_pools_too_small_to_tell_features_apart_are_refused() -> None:
    players, _ = planted(2, 60)
    with pytest.raises(SettingError, match="'pool', if set, to a larger number"):
        kernel_shap(players, samples=2000, pool=1)
