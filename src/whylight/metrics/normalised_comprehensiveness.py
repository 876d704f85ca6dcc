"""Normalised comprehensiveness: the drop without the most important features, as a share of what there is to lose.

    norm comp = max(0, f(x) - f(x without the top k %)) / d,   d = max(0, f(x) - f(nothing)),   clipped to [0, 1]

The null input is the one with every feature removed. Where it scores as high as the text (d < 1e-5) the value is 0.
Higher is better. The code of Ferreira et al. adds 2e-4 to d and takes zero vectors of the reduced length for the null
input, so that d changes with k.
Reference: Carton et al. 2020. Cost: 1 forward pass for each target, and 2 for the untouched and the empty input.
"""

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._curves import check_share, null_drop, removal_drop, share_of, top_count
from whylight.views.game import Game


@metric(cite="carton2020", higher_is_better=True)
def normalised_comprehensiveness(explanation: Explanation, game: Game, *, share: float = 0.2) -> Floats:
    """Measure the drop without the top features as a share of the drop without everything, one value a target."""
    check_share("share", share)
    drop = removal_drop(explanation, game, [top_count(share, game.n_features)])[:, 0]
    return share_of(drop, null_drop(game))
