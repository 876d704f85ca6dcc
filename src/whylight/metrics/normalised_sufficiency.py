"""Normalised sufficiency: how much of what there is to lose the most important features alone hold back.

    norm suff = 1 - max(0, f(x) - f(the top k % alone)) / d,   d = max(0, f(x) - f(nothing)),   clipped to [0, 1]

This is (suff - suff0) / (1 - suff0) with suff = 1 - max(0, f(x) - f(the top k % alone)), and suff0 the same of the null
input, the one with every feature removed. Where it scores as high as the text (d < 1e-5) the value is 0. Unlike
`sufficiency`, higher is better. Ferreira et al. print 1 - suff in the denominator; their code has 1 - suff0, less 1e-4.
Reference: Carton et al. 2020. Cost: 1 forward pass for each target, and 2 for the untouched and the empty input.
"""

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._curves import check_share, keep_drop, null_drop, share_of, top_count
from whylight.views.game import Game


@metric(cite="carton2020", higher_is_better=True)
def normalised_sufficiency(explanation: Explanation, game: Game, *, share: float = 0.2) -> Floats:
    """Measure how much of the drop without everything the top features alone prevent, one value a target."""
    check_share("share", share)
    drop = keep_drop(explanation, game, [top_count(share, game.n_features)])[:, 0]
    null = null_drop(game)
    return share_of(null - np.maximum(0.0, drop), null)
