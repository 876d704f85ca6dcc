"""Random scores: what every method must beat.

Reference: the usual control, e.g. Edin et al. 2024. Cost: nothing.
"""

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.registry import method
from whylight.views.game import Game


@method(
    cite="edin2024",
    signed=True,
    cost="0",
    good_for="a control: what any other method should beat",
)
def random(game: Game, *, seed: int = 0) -> Floats:
    """Draw each score from a standard normal distribution."""
    return np.random.default_rng(seed).standard_normal((game.n_targets, game.n_features))
