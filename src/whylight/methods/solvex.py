"""Solvex: the order of features that a faithfulness metric likes best, found by a beam search for it.

    o = argmax over orders of  sum over k = 1..n of  f(S_k) - f(x without S_k),     S_k = the first k of the order

That is `comp_suff`; `suff` has the first term alone and `comp` the second. The search is that of `views/orders.py`: it
gives the next rank to one more feature at a time, and keeps the `beam` best orders so far.
The score of a feature is its rank, moved by a constant so that as many signs as possible are those of the feature
alone: of f(x) - f(x without it), for `suff` of f(it) - f(nothing).
Reference: Zhou and Shah 2023, whose code runs `comp_suff` alone and has no bound. Cost: at most `beam` x n (n + 1)
forward passes, half of that for `comp` and `suff`, and never more than `max_evaluations` per target.
Where that bound would be passed, the beam is narrowed from the start so that the search reaches the end; where even one
order is too much, the last ranks go by the value of each feature alone. The receipt says so.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.errors import SettingError
from whylight.core.labels import SCORE_SPACES
from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.views.game import Game
from whylight.views.orders import BeamSearch, SetScores, Worth

Objective = Literal["comp_suff", "comp", "suff"]
SIDES: dict[Objective, tuple[int, int]] = {"comp_suff": (1, -1), "comp": (0, -1), "suff": (1, 0)}
"""How a set counts that is looked at alone, and what is left without it."""


@method(
    cite="zhou2023",
    signed=True,
    cost="≤ 50 n (n + 1) forward, and ≤ 100,000",
    good_for="the order of features that deletion metrics like best, as a bound for other methods",
    scores=("probability", *(one for one in SCORE_SPACES if one != "probability")),
)
def solvex(game: Game, *, objective: Objective = "comp_suff", beam: int = 50, max_evaluations: int = 100_000) -> Scores:
    """Search the order of features by which comprehensiveness and sufficiency are best."""
    if beam < 1:
        raise SettingError(f"the setting 'beam' must be at least 1, not {beam}.")
    kept, left = SIDES[objective]
    worth = Worth(scores=SetScores(game), kept=kept, left=left)
    fewest = 1 + worth.sides * game.n_features
    if max_evaluations < fewest:
        raise SettingError(f"the setting 'max_evaluations' must be at least {fewest} here, not {max_evaluations}.")
    rows, notes = list[Floats](), list[str]()
    for target in range(game.n_targets):
        search = BeamSearch(worth=worth, target=target, beam=beam, most=max_evaluations)
        order = search.order()
        rows.append(_ranked(order, _alone(worth, target)) if worth.scores.vary(target) else np.zeros(game.n_features))
        notes += search.notes
    return Scores(np.stack(rows), notes=tuple(dict.fromkeys(notes)))


def _ranked(order: Sequence[int], alone: Floats) -> Floats:
    """Turn an order into scores: ranks, moved so that as many signs as possible are those of the features alone."""
    n = len(order)
    ranks = np.empty(n)
    ranks[list(order)] = np.arange(n - 1, -1, -1)
    moved = ranks - np.arange(-0.5, n)[:, None]  # [constants, features]
    agreeing = (np.sign(moved) == np.sign(alone)).sum(axis=1)
    return np.asarray(moved[int(agreeing.argmax())])


def _alone(worth: Worth, target: int) -> Floats:
    """Return how far the score falls without each feature, or rises by it alone; known after a search."""
    scores, game = worth.scores, worth.scores.game
    each = [1 << i for i in range(game.n_features)]
    if worth.left:
        return np.asarray([game.full[target] - scores[scores.everything ^ one][target] for one in each])
    return np.asarray([scores[one][target] - game.empty[target] for one in each])
