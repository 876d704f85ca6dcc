"""Games with known answers: what methods of games are checked on, without any model."""

from collections.abc import Callable

import numpy as np

from whylight.core.arrays import Bools, Floats
from whylight.testing.running import promise
from whylight.views.game import Game


def watched_game(value: Callable[[Bools], Floats], *, n_features: int, n_targets: int = 1) -> tuple[Game, list[int]]:
    """Return a game that takes nothing but keep masks, and a list that grows by the rows of each call."""
    asked: list[int] = []

    def answer(keep: Bools) -> Floats:
        mask = isinstance(keep, np.ndarray) and keep.dtype == bool and keep.shape[1:] == (n_features,)
        shape = f"{getattr(keep, 'dtype', type(keep).__name__)} {getattr(keep, 'shape', '')}"
        promise(mask, f"a game must be asked in masks, bool [coalitions, {n_features}]; it was asked in {shape}.")
        asked.append(len(keep))
        return value(keep)

    return Game(answer, n_features=n_features, n_targets=n_targets), asked


def constant_game(n_features: int, n_targets: int) -> tuple[Game, list[int]]:
    """In which no feature counts."""
    return watched_game(lambda keep: np.full((len(keep), n_targets), 0.7), n_features=n_features, n_targets=n_targets)


def random_game(n_features: int, n_targets: int, *, seed: int = 0) -> tuple[Game, list[int]]:
    """In which every coalition has a value of its own, drawn once."""
    values = np.random.default_rng(seed).standard_normal((2**n_features, n_targets))
    places = 1 << np.arange(n_features)
    return watched_game(lambda keep: values[keep @ places], n_features=n_features, n_targets=n_targets)


def additive_game(worth: Floats, *, squashed: bool = False) -> Game:
    """In which each feature adds what it is worth, `[targets, features]`; squashed, to what becomes a probability."""
    rows = np.atleast_2d(np.asarray(worth, dtype=np.float64))

    def value(keep: Bools) -> Floats:
        total = keep @ rows.T
        return np.asarray(1 / (1 + np.exp(1 - total))) if squashed else np.asarray(total)

    return Game(value, n_features=rows.shape[1], n_targets=len(rows))
