"""Faithfulness between its bounds: where the AOPC of an explanation lies among those of all orders of the features.

    aopc(o) = 1/n sum over k = 1..n of f(x) - f(x without the first k of o)
    naopc   = (aopc(o) - lower) / (upper - lower),   lower and upper: the least and the largest aopc of all n! orders

Lower and upper depend on model and text, so that plain AOPC of two models or texts cannot be compared. Every feature is
removed, one by one; those of `aopc_comprehensiveness` go at 1 to 50 %. Features are ranked by signed score, ties in
reading order.
Up to `exact` features the bounds are exact. What comes after a set of removed features does not depend on the order in
which they went, so that 2^n sets take the place of n! orders:

    upper(S) = f(x) - f(x without S) + max over i in S of upper(S without i),   lower(S) with min

Above that they are approximations, found by two beam searches (`views/orders.py`): the true interval holds the one that
is found. An explanation whose own order is better or worse than all that were found moves the bound, so that values
always lie in [0, 1].
The published code goes through all n! orders, looks for the largest sum from 0 upwards, so that a text whose score
rises with every removal has a wrong upper bound, and keeps several orders of the same features in its beam of 5.
"""

from collections.abc import Iterable
from itertools import accumulate
from operator import or_
from typing import NamedTuple

import numpy as np

from whylight.core import progress
from whylight.core.arrays import Floats
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.limits import claim
from whylight.core.registry import metric
from whylight.metrics._curves import ROUNDING, check_positive, ranked_features, rows_for
from whylight.views.game import Game
from whylight.views.orders import BeamSearch, SetScores, Worth

SET_BYTES = 500
"""Memory that a set takes, besides one bit per feature and one number per target."""
UPPER, LOWER = -1, 1
"""How what is left counts to whoever looks for the largest AOPC, and for the least."""


@metric(cite="edin2025", higher_is_better=True, searches=True)
def normalised_aopc_comprehensiveness(
    explanation: Explanation, game: Game, *, exact: int = 10, beam: int = 5
) -> Floats:
    """Place AOPC, most important features first, between its bounds, one value per target (nan if these are the same).

    1 if no order of the features makes the score fall faster, 0 if none makes it fall more slowly. nan where all orders
    have the same AOPC, as where there are fewer than two features. Higher is better. Above `exact` features the bounds
    are those that beams of `beam` orders find.
    Reference: Edin et al. 2025. Cost: 2^n forward passes up to `exact` features; above, at most `beam` x n (n + 1) + 1
    for each target, which all explanations of a text share in a run, and n for each explanation. That is much for long
    texts; larger units (--unit sentence) make n small.
    """
    return _normalised(explanation, game, exact=exact, beam=beam, falling=True)


@metric(cite="edin2025", higher_is_better=False, searches=True)
def normalised_aopc_sufficiency(explanation: Explanation, game: Game, *, exact: int = 10, beam: int = 5) -> Floats:
    """Place AOPC, least important features first, between its bounds, one value per target (nan if these are the same).

    0 if no order of the features keeps the score up longer, 1 if none lets it fall faster. nan where all orders have
    the same AOPC, as where there are fewer than two features. Lower is better. Above `exact` features the bounds are
    those that beams of `beam` orders find.
    Reference: Edin et al. 2025. Cost: that of `normalised_aopc_comprehensiveness`, with which it shares all but n
    forward passes.
    """
    return _normalised(explanation, game, exact=exact, beam=beam, falling=False)


class _Bounds(NamedTuple):
    """The least and the largest AOPC, `[targets]` each, and the scores that they are from."""

    scores: SetScores
    lower: Floats
    upper: Floats


def _normalised(explanation: Explanation, game: Game, *, exact: int, beam: int, falling: bool) -> Floats:
    """Return where the AOPC of each target's own order lies between the bounds; nan where they are the same."""
    if exact < 0:
        raise SettingError(f"the setting 'exact' must be at least 0, not {exact}.")
    check_positive("beam", beam)
    orders = ranked_features(rows_for(explanation, game))[:, :: 1 if falling else -1]
    if not game.n_features:
        return np.full(game.n_targets, np.nan)
    scores, lower, upper = game.once(_aopc_bounds, exact, beam)
    own = np.asarray([_aopc(scores, order, target) for target, order in enumerate(orders.tolist())])
    lower, upper = np.minimum(lower, own), np.maximum(upper, own)
    differ = upper - lower > ROUNDING * np.abs([scores[scores.everything], lower, upper]).max(axis=0)
    return np.where(differ, (own - lower) / np.where(differ, upper - lower, 1.0), np.nan)


def _aopc(scores: SetScores, order: Iterable[int], target: int) -> float:
    """Return the AOPC of an order of all features."""
    left = [scores.everything ^ gone for gone in accumulate((1 << i for i in order), or_)]
    scores.ask(left)
    return float(scores[scores.everything][target] - np.mean([scores[one][target] for one in left]))


def _aopc_bounds(game: Game, exact: int, beam: int) -> _Bounds:
    """Find the bounds of a game, exactly if it has up to `exact` features."""
    n = game.n_features
    sets = 2**n if n <= exact else beam * n * (n + 1) * game.n_targets
    claim(sets * (SET_BYTES + n // 8 + 8 * game.n_targets), f"finding the bounds of AOPC on {n:,} features")
    scores = SetScores(game)
    if n <= exact:
        return _Bounds(scores, *_exact(scores))
    scores.ask([scores.everything])
    lower, upper = np.empty(game.n_targets), np.empty(game.n_targets)
    with progress.blocks(2 * game.n_targets) as begin:
        for target in range(game.n_targets):
            for left, found in ((UPPER, upper), (LOWER, lower)):
                begin()
                worth = Worth(scores=scores, kept=0, left=left)
                order = BeamSearch(worth=worth, target=target, beam=beam, distinct=True).order()
                found[target] = _aopc(scores, order, target)
    return _Bounds(scores, lower, upper)


def _exact(scores: SetScores) -> tuple[Floats, Floats]:
    """Return the least and the largest AOPC, `[targets]` each, from the scores of all sets of features."""
    n, every = scores.n, np.arange(2**scores.n)
    scores.ask(every.tolist())
    drops = scores[scores.everything] - np.stack([scores[one] for one in every[::-1].tolist()])  # [removed, targets]
    members = every[:, None] >> np.arange(n) & 1  # [sets, features]
    sizes = members.sum(axis=1)
    lower, upper = np.zeros_like(drops), np.zeros_like(drops)
    for size in range(1, n + 1):
        sets = np.flatnonzero(sizes == size)
        last = np.nonzero(members[sets])[1].reshape(len(sets), size)  # any member may have gone last
        before = sets[:, None] ^ (1 << last)
        lower[sets] = drops[sets] + lower[before].min(axis=1)
        upper[sets] = drops[sets] + upper[before].max(axis=1)
    return lower[-1] / n, upper[-1] / n
