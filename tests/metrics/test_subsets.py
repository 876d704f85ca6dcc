"""Scores as amounts, against brute force over all subsets, against Captum, and where the answer is known."""

from dataclasses import replace
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest
import torch
from captum.metrics import infidelity as captum_infidelity
from metric_builders import Counted, additive, explanation, probability
from torch import Tensor

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.metrics.subsets import infidelity, sensitivity_n, subsets_of
from whylight.views import game as views
from whylight.views.game import Game

WORTH = np.asarray([[1.5, -2.0, 0.0, 0.25, 3.0, -0.5], [0.0, 1.0, -1.0, 2.0, 0.5, 0.125]])
N = WORTH.shape[1]
EVERYTHING = {"steps": N - 1, "subsets": comb(N, N // 2)}
"""Settings by which all subsets but the whole are taken, those of every size alike."""


def drawn_game(*, seed: int) -> tuple[Game, Floats]:
    """A game of two targets whose values are drawn, and its values."""
    table = np.random.default_rng(seed).standard_normal((2**N, 2))
    return Game(lambda keep: table[keep @ (1 << np.arange(N))], n_features=N, n_targets=2), table


def by_brute_force(scores: Floats, table: Floats) -> list[tuple[Floats, Floats]]:
    """Sums and drops of all subsets of one target, by size."""
    found = []
    for size in range(1, N):
        every = list(combinations(range(N), size))
        sums = np.asarray([sum(scores[i] for i in one) for one in every])
        left = [2**N - 1 - sum(1 << i for i in one) for one in every]
        found.append((sums, table[-1] - table[left]))
    return found


@pytest.mark.parametrize("settings", [{}, EVERYTHING, {"steps": 1, "subsets": 3, "seed": 5}])
def test_the_worths_of_an_additive_game_are_perfect(settings: dict[str, int]) -> None:
    game, true = additive(WORTH, base=4.0), explanation(WORTH)
    np.testing.assert_allclose(sensitivity_n(true, game, **settings), 1.0)
    np.testing.assert_allclose(sensitivity_n(explanation(-WORTH), game, **settings), -1.0)
    for normalise in (True, False):
        np.testing.assert_allclose(infidelity(true, game, normalise=normalise, **settings), 0.0, atol=1e-24)


@pytest.mark.parametrize("seed", range(5))
def test_they_are_those_of_brute_force_over_all_subsets(seed: int) -> None:
    game, table = drawn_game(seed=seed)
    scores = np.random.default_rng(seed + 50).standard_normal((2, N))
    made = explanation(scores)
    for target in range(2):
        sizes = by_brute_force(scores[target], table[:, target])
        expected = np.mean([np.corrcoef(sums, drops)[0, 1] for sums, drops in sizes])
        np.testing.assert_allclose(sensitivity_n(made, game, **EVERYTHING)[target], expected)
        products = np.mean([np.mean(sums * drops) for sums, drops in sizes])
        beta = products / np.mean([np.mean(sums**2) for sums, _ in sizes])
        for normalise, scale in ((True, beta), (False, 1.0)):
            expected = np.mean([np.mean((scale * sums - drops) ** 2) for sums, drops in sizes])
            found = infidelity(made, game, normalise=normalise, **EVERYTHING)[target]
            np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("normalise", [True, False])
def test_infidelity_is_that_of_captum(normalise: bool) -> None:  # noqa: FBT001
    """On all ten subsets of three of five features, which is what one step takes."""
    worth, scores = WORTH[0, :5], np.asarray([0.5, -1.0, 2.0, 0.0, 1.0])
    removed = torch.zeros(10, 5, dtype=torch.float64)
    for row, members in zip(removed, combinations(range(5), 3), strict=True):
        row[list(members)] = 1

    def forward(present: Tensor) -> Tensor:
        return torch.sigmoid(-1 + present @ torch.as_tensor(worth))

    theirs = captum_infidelity(
        forward,
        lambda inputs: (removed, inputs - removed),
        torch.ones(1, 5, dtype=torch.float64),
        torch.as_tensor(scores)[None],
        n_perturb_samples=10,
        normalize=normalise,
    )
    ours = infidelity(explanation(scores), probability(worth), normalise=normalise, steps=1)
    np.testing.assert_allclose(ours, theirs.numpy())


def test_the_unit_of_scores_does_not_matter_and_the_fitted_scale_is_the_best() -> None:
    game, _ = drawn_game(seed=1)
    scores = np.random.default_rng(2).standard_normal((2, N))
    for scale in (1e-200, 3.0, 1e200):
        for measure in (sensitivity_n, infidelity):
            np.testing.assert_allclose(measure(explanation(scale * scores), game), measure(explanation(scores), game))
    fitted = infidelity(explanation(scores), game)
    for scale in np.linspace(-2, 2, 41):
        assert (infidelity(explanation(scale * scores), game, normalise=False) >= fitted - 1e-12).all()


def test_reversed_signs_are_told_apart_by_the_correlation_alone() -> None:
    game, made, turned = probability(WORTH), explanation(WORTH), explanation(-WORTH)
    np.testing.assert_allclose(infidelity(turned, game), infidelity(made, game))
    np.testing.assert_allclose(sensitivity_n(turned, game), -sensitivity_n(made, game))
    assert (sensitivity_n(made, game) > 0.9).all()


def test_scores_without_signs_and_too_few_features_have_no_value() -> None:
    made = explanation(np.abs(WORTH))
    plain = replace(made, provenance=replace(made.provenance, signed=False))
    for measure in (sensitivity_n, infidelity):
        assert np.isnan(measure(plain, additive(WORTH))).tolist() == [True, True]
        assert np.isfinite(measure(made, additive(WORTH))).all()
        assert np.isnan(measure(explanation([2.0]), additive([2.0]))).all()


def test_scores_that_are_all_the_same_have_no_correlation_and_zeros_the_whole_error() -> None:
    game, table = drawn_game(seed=3)
    for score in (0.0, 0.1, 1 / 3, 0.7):  # whose means are not always the same numbers
        assert np.isnan(sensitivity_n(explanation(np.full((2, N), score)), game)).all()
    nothing = np.zeros((2, N))
    expected = [np.mean([np.mean(drops**2) for _, drops in by_brute_force(nothing[0], own)]) for own in table.T]
    for normalise in (True, False):
        np.testing.assert_allclose(infidelity(explanation(nothing), game, normalise=normalise, **EVERYTHING), expected)


def test_an_error_beyond_all_numbers_is_none() -> None:
    made, game = explanation([1e300, 0.0, -1.0]), additive([1.0, 2.0, 3.0])
    assert np.isnan(infidelity(made, game, normalise=False)).all()
    assert np.isfinite(infidelity(made, game)).all()


def test_sizes_at_which_nothing_differs_are_left_out_of_the_mean() -> None:
    """Any one word can go without harm; of two words, the first is missed if it is among them."""

    def value(keep: Bools) -> Floats:
        return ((keep.sum(axis=1) >= 3) | keep[:, 0])[:, None] * 1.0

    game, made = Game(value, n_features=4), explanation([1.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(sensitivity_n(made, game, steps=3), 1.0)  # sizes 2 and 3
    constant = Game(lambda keep: np.full((len(keep), 1), 0.7), n_features=4)
    assert np.isnan(sensitivity_n(made, constant, steps=3)).all()
    np.testing.assert_allclose(infidelity(made, constant, steps=3), 0.0)


def test_both_metrics_and_all_explanations_share_what_they_ask() -> None:
    counted = Counted(np.random.default_rng(0).standard_normal(40))
    sensitivity_n(explanation(np.arange(40.0)), counted.game)
    first = set(counted.rows)
    assert len(first) <= 5 * 100 + 1
    infidelity(explanation(-(np.arange(40.0) ** 2)), counted.game)
    assert set(counted.rows) == first


def test_subsets_of_a_size_are_drawn_alike_likely() -> None:
    generator = np.random.default_rng(0)
    for n, size, count in [(12, 6, 2000), (12, 6, 150), (30, 3, 500)]:  # some of few, and some of many
        drawn = subsets_of(n, size, count, generator)
        assert drawn.shape[0] == min(count, comb(n, size))
        assert (drawn.sum(axis=1) == size).all()
        share, spread = size / n, np.sqrt(size / n * (1 - size / n) / len(drawn))
        assert np.abs(drawn.mean(axis=0) - share).max() < 4 * spread
    every = subsets_of(7, 3, 35, generator)
    assert len({row.tobytes() for row in every}) == 35


def test_draws_depend_on_the_seed_and_not_on_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    game, made = probability(np.random.default_rng(0).standard_normal(40)), explanation(np.arange(40.0))
    blocks: list[int] = []
    watched = Game(lambda keep: blocks.append(keep.nbytes) or game(keep), n_features=40)  # type: ignore[func-returns-value]
    for measure in (sensitivity_n, infidelity):
        whole, other = measure(made, game, subsets=20), measure(made, game, subsets=20, seed=1)
        assert (whole != other).all()
        with monkeypatch.context() as small:
            small.setattr(views, "BLOCK_BYTES", 200)
            np.testing.assert_allclose(measure(made, watched, subsets=20), whole)
    assert max(blocks) <= 200


@pytest.mark.parametrize("settings", [{"subsets": 1}, {"steps": 0}])
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any]) -> None:
    for measure in (sensitivity_n, infidelity):
        with pytest.raises(SettingError, match=next(iter(settings))):
            measure(explanation([3.0, 2.0, 1.0]), additive([0.1, 0.2, 0.3]), **settings)
        with pytest.raises(SettingError, match="3 features"):
            measure(explanation([3.0, 2.0, 1.0]), additive([1.0, 2.0]))
