"""Comprehensiveness: how much the score falls when the most important features are taken away.

    comp = f(x) - f(x without the top k % features)

k % of n features are max(1, round(k n)); `rounding="floor"` is Barkan et al. 2024's, which can take none.
Features are ranked by signed score, ties in reading order. Higher is better: what the explanation names mattered.
Reference: DeYoung et al. 2020. Cost: 1 forward pass for each target, and 1 for the untouched input.
"""

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._curves import Rounding, check_share, removal_drop, top_count
from whylight.views.game import Game


@metric(cite="deyoung2020", higher_is_better=True)
def comprehensiveness(
    explanation: Explanation, game: Game, *, share: float = 0.2, rounding: Rounding = "round"
) -> Floats:
    """Measure the drop in score without the top features, one value a target."""
    check_share("share", share)
    return removal_drop(explanation, game, [top_count(share, game.n_features, rounding=rounding)])[:, 0]
