"""Sufficiency: how much the score falls when nothing but the most important features is left.

    suff = f(x) - f(the top k % features alone)

k % of n features are max(1, round(k n)); `rounding="floor"` is Barkan et al. 2024's, which can take none: the value is
then 0, as in their code, because nothing was chosen that could be measured.
Features are ranked by signed score, ties in reading order. Lower is better: what the explanation names is enough.
Reference: DeYoung et al. 2020. Cost: 1 forward pass for each target, and 1 for the untouched input.
"""

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._curves import Rounding, check_share, keep_drop, top_count
from whylight.views.game import Game


@metric(cite="deyoung2020", higher_is_better=False)
def sufficiency(explanation: Explanation, game: Game, *, share: float = 0.2, rounding: Rounding = "round") -> Floats:
    """Measure the drop in score with the top features alone, one value a target."""
    check_share("share", share)
    return keep_drop(explanation, game, [top_count(share, game.n_features, rounding=rounding)])[:, 0]
