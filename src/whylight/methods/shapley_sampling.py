"""Shapley sampling: the mean marginal contribution of a feature over random orders of arrival.

    phi_i = mean over permutations of  f(those before i, and i) - f(those before i)

Reference: Castro et al. 2009. Cost: `permutations` x (n - 1) + 2 forward passes. Sums to f(x) - f(nothing) exactly.
"""

import numpy as np

from whylight.core.arrays import Bools, Ints
from whylight.core.errors import SettingError
from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.views.game import Game


@method(
    cite="castro2009",
    signed=True,
    cost="≤ 25 (n - 1) + 2 forward",
    good_for="any model; short inputs whose features act together",
    complete=True,
)
def shapley_sampling(game: Game, *, permutations: int = 25, seed: int = 0) -> Scores:
    """Average what each feature adds when features arrive in random order."""
    if permutations < 1:
        raise SettingError(f"the setting 'permutations' must be at least 1, not {permutations}.")
    n, generator = game.n_features, np.random.default_rng(seed)
    arrival = generator.random((permutations, n)).argsort(axis=1).argsort(axis=1)  # when each feature comes

    def present(numbers: Ints) -> Bools:  # in each order, after 1 .. n - 1 arrivals
        return np.asarray(arrival[numbers // (n - 1)] <= (numbers % (n - 1))[:, None])

    inside = game.in_blocks(permutations * (n - 1), present).reshape(permutations, n - 1, game.n_targets)
    empty, full = (np.broadcast_to(end, (permutations, 1, len(end))) for end in (game.empty, game.full))
    gains = np.diff(np.concatenate([empty, inside, full], axis=1), axis=1)  # [permutations, arrivals, targets]
    return game.complete(np.take_along_axis(gains, arrival[:, :, None], axis=1).mean(axis=0).T)
