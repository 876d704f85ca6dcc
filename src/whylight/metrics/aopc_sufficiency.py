"""AOPC of sufficiency: the drop with the most important features alone, averaged over several shares.

    aopc = 1/|B| sum over k in B of suff(k),   B = 1, 5, 10, 20, 50 %

`steps=19` takes the shares 5, 10, ..., 95 % (Brinner and Zarriess 2023). The code of Barkan et al. 2024 divides by
|B| + 1, rounds down, and gives a share of no features the value 0: `divisor="published", rounding="floor"`.
Lower is better.
Reference: DeYoung et al. 2020. Cost: at most |B| forward passes for each target, and 1 for the untouched input.
"""

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._curves import Divisor, Rounding, keep_drop, mean_over_shares, share_counts
from whylight.views.game import Game


@metric(cite="deyoung2020", higher_is_better=False)
def aopc_sufficiency(
    explanation: Explanation,
    game: Game,
    *,
    steps: int | None = None,
    divisor: Divisor = "shares",
    rounding: Rounding = "round",
) -> Floats:
    """Average the drop in score with the top features alone over several shares, one value a target."""
    counts = share_counts(steps, game.n_features, rounding=rounding)
    return mean_over_shares(keep_drop(explanation, game, counts), divisor)
