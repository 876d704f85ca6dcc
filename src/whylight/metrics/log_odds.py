"""Log-odds: how the log-probability changes when the most important features are taken away.

    lo = ln p(x without the top k % features) - ln p(x),   p kept at or above 1e-7

The name is that of the literature; odds do not enter. The game must be one of probabilities, and "removed" is meant to
be the mask token. `rounding="floor"` is Barkan et al. 2024's, whose code does not clip. Lower is better.
Reference: Shrikumar et al. 2017, as used by Barkan et al. 2024. Cost: 1 forward pass for each target, and 1 for the
untouched input.
"""

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.labels import CLIP
from whylight.core.registry import metric
from whylight.metrics._curves import Rounding, check_share, removal_curve, top_count
from whylight.views.game import Game

TOLERANCE = 1e-6
"""Rounding may carry a probability this far beyond 0 and 1."""


@metric(cite="shrikumar2017", higher_is_better=False)
def log_odds(explanation: Explanation, game: Game, *, share: float = 0.2, rounding: Rounding = "round") -> Floats:
    """Measure the change of the log-probability without the top features, one value a target."""
    check_share("share", share)
    after = removal_curve(explanation, game, [top_count(share, game.n_features, rounding=rounding)])[:, 0]
    both = np.stack([game.full, after])
    if (both < -TOLERANCE).any() or (both > 1 + TOLERANCE).any():
        raise SettingError("'log_odds' needs probabilities; use the score 'probability'.")
    before, after = np.log(np.maximum(both, CLIP))
    return np.asarray(after - before)
