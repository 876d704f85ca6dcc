"""Faithfulness of scores as amounts: does removing features change the score by the sum of their scores?

    sum over i in S of a_i   against   f(x) - f(x without S),     S: random subsets of the features

Metrics of a ranking see the order of scores alone; these see their sizes and signs. So they are of signed scores: what
never says that a feature speaks against the label cannot sum to a score that rises, and has no number.
Subsets have 1, 5, 10, 20 and 50 % of the features (`steps` shares at equal distance instead, as in `aopc_sufficiency`),
each number of features once. Of every size `subsets` are drawn, all alike likely; where there are no more, each is
taken once. The draw depends on `seed` and the number of features alone, so that in a run both metrics and all
explanations of a text share its forward passes.
"""

from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.limits import claim
from whylight.core.registry import metric
from whylight.metrics._curves import ROUNDING, rows_for, share_counts
from whylight.views.game import Game

FEWEST = 2
"""Subsets of a size, and features, of which a correlation or a fitted scale can say anything."""
LISTED = 4
"""A draw that takes at least a quarter of all subsets of a size is made from the list of them, without repetition."""


@metric(cite="ancona2018", higher_is_better=True, signed=True)
def sensitivity_n(
    explanation: Explanation, game: Game, *, steps: int | None = None, subsets: int = 100, seed: int = 0
) -> Floats:
    """Correlate sums of scores with drops in score, one value per target (nan for scores without signs).

        mean over sizes n of  corr over S with |S| = n of (sum over i in S of a_i, f(x) - f(x without S))

    Pearson's correlation; the unit of scores does not matter. Sizes at which all sums or all drops are the same are
    left out of the mean; nan where no size is left, as with fewer than two features. The paper shows a curve over
    sizes up to about 80 %. Higher is better.
    Reference: Ancona et al. 2018. Cost: at most `subsets` forward passes for each size, and 1 for the untouched input;
    no more for further targets.
    """
    if not _measurable(explanation, game, subsets):
        return np.full(game.n_targets, np.nan)
    drawn = _sums_and_drops(explanation, game, steps=steps, subsets=subsets, seed=seed)
    some = [drawn.sizes == size for size in np.unique(drawn.sizes)]
    found = np.stack([(_unit(drawn.sums[own]) * _unit(drawn.drops[own])).sum(axis=0) for own in some])
    known = np.isfinite(found)  # [sizes, targets]
    mean = np.where(known, found, 0.0).sum(axis=0) / np.maximum(1, known.sum(axis=0))
    return np.where(known.any(axis=0), np.clip(mean, -1.0, 1.0), np.nan)


@metric(cite="yeh2019", higher_is_better=False, signed=True)
def infidelity(
    explanation: Explanation,
    game: Game,
    *,
    normalise: bool = True,
    steps: int | None = None,
    subsets: int = 100,
    seed: int = 0,
) -> Floats:
    """Average the squared error of sums of scores as drops in score, one value per target (nan without signs).

        mean over sizes n, and over S with |S| = n, of  (beta sum over i in S of a_i - (f(x) - f(x without S)))^2
        beta = E[sum of scores x drop] / E[(sum of scores)^2]

    That is Yeh et al.'s E[(I a - (f(x) - f(x - I)))^2], where the perturbation I is 1 for features of S and 0 for
    others. beta is the scale that fits best (their optimal scaling). It is there by default, because methods explain
    logits, or in units of their own, and f is a probability; `normalise=False` has beta = 1. beta may be negative, so
    that scores with all signs reversed are as good as they were: `sensitivity_n` tells them apart. Scores of 0 have the
    error E[drop^2]. nan with fewer than two features. Lower is better.
    Reference: Yeh et al. 2019. Cost: that of `sensitivity_n`, with which it shares all forward passes.
    """
    if not _measurable(explanation, game, subsets):
        return np.full(game.n_targets, np.nan)
    sums, drops, sizes = _sums_and_drops(explanation, game, steps=steps, subsets=subsets, seed=seed)
    _, which, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    weights = 1 / (len(counts) * counts[which])  # every size counts alike, [subsets]
    with np.errstate(over="ignore"):  # an error that is too large is no number
        found = weights @ ((_fitted(sums, drops, weights) if normalise else sums) - drops) ** 2
    return np.where(np.isfinite(found), found, np.nan)


class _Drawn(NamedTuple):
    """What subsets say.

    Attributes:
        sums: Sum of the scores of each subset, `[subsets, targets]`.
        drops: How far the score of the text falls without it, `[subsets, targets]`.
        sizes: How many features it has, `[subsets]`.
    """

    sums: Floats
    drops: Floats
    sizes: Ints


def _measurable(explanation: Explanation, game: Game, subsets: int) -> bool:
    """Say whether scores are amounts, and features enough for there to be several subsets."""
    if subsets < FEWEST:
        raise SettingError(f"the setting 'subsets' must be at least {FEWEST}, not {subsets}.")
    return rows_for(explanation, game).shape[1] >= FEWEST and explanation.provenance.signed


def _sums_and_drops(explanation: Explanation, game: Game, *, steps: int | None, subsets: int, seed: int) -> _Drawn:
    """Draw subsets of every size, sum their scores and ask for the score without them."""
    rows, n = rows_for(explanation, game), game.n_features
    sizes = sorted(set(share_counts(steps, n, rounding="round")))
    claim(2 * len(sizes) * subsets * n, f"{len(sizes) * subsets:,} subsets of {n:,} features")
    generator = np.random.default_rng(seed)
    removed = np.concatenate([subsets_of(n, size, subsets, generator) for size in sizes])  # [subsets, features]
    sums = np.stack([rows[:, one].sum(axis=1) for one in removed])  # one by one: numbers take eight times the memory
    left = game.in_blocks(len(removed), lambda numbers: ~removed[numbers])
    return _Drawn(sums, game.full - left, removed.sum(axis=1))


def subsets_of(n: int, size: int, count: int, generator: np.random.Generator) -> Bools:
    """Draw subsets of n features of a size, `[subsets, features]`: `count`, or all where there are no more."""
    if comb(n, size) <= LISTED * count:
        every = np.asarray(list(combinations(range(n), size)))
        count = min(count, len(every))
        members = iter(every[generator.permutation(len(every))[:count]])
    else:
        members = (generator.choice(n, size, replace=False, shuffle=False) for _ in range(count))
    removed = np.zeros((count, n), dtype=bool)
    for row, own in zip(removed, members, strict=True):
        row[own] = True
    return removed


def _unit(values: Floats) -> Floats:
    """Centre columns and scale them to length 1; nan where all numbers are the same but for rounding."""
    centred = values - values.mean(axis=0)
    largest = np.abs(centred).max(axis=0)
    vary = largest > ROUNDING * np.abs(values).max(axis=0)
    scaled = centred / np.where(vary, largest, np.nan)
    return np.asarray(scaled / np.linalg.norm(scaled, axis=0))


def _fitted(sums: Floats, drops: Floats, weights: Floats) -> Floats:
    """Scale the sums of each target so that they fit its drops best."""
    largest = np.abs(sums).max(axis=0)
    sums = sums / np.where(largest, largest, 1.0)  # so that squares are neither too large nor 0
    power = weights @ sums**2
    beta = weights @ (sums * drops) / np.where(power, power, 1.0)
    return np.asarray(beta * sums)
