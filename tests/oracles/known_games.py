"""Games whose answers are known in closed form, or by brute force."""

from collections.abc import Callable
from itertools import permutations

import numpy as np

from whylight.core.arrays import Floats
from whylight.views.game import Game

WORTH = np.asarray([[1.5, -2.0, 0.0, 0.25, 3.0, -0.5, 7.0], [0.0, 1.0, -1.0, 2.0, 0.5, 0.125, -3.0]])  # [targets, n]


def additive(worth: Floats = WORTH) -> Game:
    """Each feature adds what it is worth, whoever else is there."""
    return Game(lambda keep: 4.0 + keep @ worth.T, n_features=worth.shape[1], n_targets=len(worth))


def game(value: Callable[[Floats], Floats], n: int) -> Game:
    """A game of one target from a function of 0/1 rows."""
    return Game(lambda keep: np.asarray(value(keep.astype(float)), dtype=float)[:, None], n_features=n)


def xor(z: Floats) -> Floats:
    return z.sum(1) % 2


def majority(z: Floats) -> Floats:
    return (z @ np.asarray([4.0, 3, 2, 1, 1, 1, 1, 1]) > 7) * 1.0


def interactions(z: Floats) -> Floats:
    return 3 * z[:, 0] * z[:, 1] - 2 * z[:, 1] * z[:, 2] * z[:, 3] + z[:, 4] - 5 * z[:, 5] * z[:, 6] * z[:, 7] + 1


GAMES = {"xor": xor, "majority": majority, "interactions": interactions}


def shapley_by_brute_force(value: Callable[[Floats], Floats], n: int) -> Floats:
    """Average marginal contributions over all n! orders of arrival."""
    every = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    worth = value(every)
    orders = np.asarray(list(permutations(range(n))))
    before, total = np.zeros(len(orders), dtype=np.int64), np.zeros(n)
    for place in range(n):
        player = orders[:, place]
        after = before | (1 << player)
        np.add.at(total, player, worth[after] - worth[before])
        before = after
    return np.asarray(total / len(orders))
