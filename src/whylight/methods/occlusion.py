"""Occlusion, also leave-one-out: how much the score drops without a feature.

    a_i = f(x) - f(x without i)

With a window wider than 1 a feature gets the mean drop of the windows that cover it.
Reference: Zeiler and Fergus 2014; Li et al. 2016. Cost: one forward pass per feature, and one.
The first paper's code takes absolute values; here the sign stays.
"""

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.errors import SettingError
from whylight.core.registry import method
from whylight.views.game import Game


@method(
    cite="zeiler2014",
    signed=True,
    cost="n + 1 forward",
    good_for="a first look at any model, easy to explain to others",
)
def occlusion(game: Game, *, window: int = 1) -> Floats:
    """Score each feature by the drop in the target's score without it."""
    if window < 1:
        raise SettingError(f"the setting 'window' must be at least 1, not {window}.")
    width = min(window, game.n_features)
    features, count = np.arange(game.n_features), game.n_features - width + 1

    def without(starts: Ints) -> Bools:
        return np.asarray((features < starts[:, None]) | (features >= starts[:, None] + width))

    drops = game.full - game.in_blocks(count, without)  # [windows, targets]
    covering = np.ones(width)  # a feature is covered by the windows that start at it or less than a width before
    return np.stack([np.convolve(drop, covering) for drop in drops.T]) / np.convolve(np.ones(count), covering)
