"""Faithfulness by perturbation: how the score moves without the most important features, or with them alone.

    comp = f(x) - f(x without the top k % features)
    suff = f(x) - f(the top k % features alone)

k % of n features are max(1, round(k n)); `rounding="floor"` is Barkan et al. 2024's, which can take none. Features are
ranked by signed score, ties in reading order. f is the score of the game, "removed" what its remover means by it.
"""

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.labels import CLIP
from whylight.core.registry import metric
from whylight.metrics._curves import (
    Divisor,
    Rounding,
    check_share,
    keep_drop,
    mean_over_shares,
    removal_curve,
    removal_drop,
    share_counts,
    top_count,
)
from whylight.views.game import Game

TOLERANCE = 1e-6
"""Rounding may carry a probability this far beyond 0 and 1."""


@metric(cite="deyoung2020", higher_is_better=True)
def comprehensiveness(
    explanation: Explanation, game: Game, *, share: float = 0.2, rounding: Rounding = "round"
) -> Floats:
    """Measure the drop in score without the top features, one value per target.

    Higher is better: what the explanation names mattered.
    Reference: DeYoung et al. 2020. Cost: 1 forward pass for each target, and 1 for the untouched input.
    """
    check_share("share", share)
    return removal_drop(explanation, game, [top_count(share, game.n_features, rounding=rounding)])[:, 0]


@metric(cite="deyoung2020", higher_is_better=False)
def sufficiency(explanation: Explanation, game: Game, *, share: float = 0.2, rounding: Rounding = "round") -> Floats:
    """Measure the drop in score with the top features alone, one value per target.

    Where rounding down leaves no feature the value is 0, as in the code of Barkan et al. 2024, because nothing was
    chosen that could be measured. Lower is better: what the explanation names is enough.
    Reference: DeYoung et al. 2020. Cost: 1 forward pass for each target, and 1 for the untouched input.
    """
    check_share("share", share)
    return keep_drop(explanation, game, [top_count(share, game.n_features, rounding=rounding)])[:, 0]


@metric(cite="deyoung2020", higher_is_better=True)
def aopc_comprehensiveness(
    explanation: Explanation,
    game: Game,
    *,
    steps: int | None = None,
    divisor: Divisor = "shares",
    rounding: Rounding = "round",
) -> Floats:
    """Average the drop in score without the top features over several shares, one value per target.

        aopc = 1/|B| sum over k in B of comp(k),   B = 1, 5, 10, 20, 50 %

    `steps=19` takes the shares 5, 10, ..., 95 % (Brinner and Zarriess 2023). The code of Barkan et al. 2024 divides by
    |B| + 1 and rounds down: `divisor="published", rounding="floor"`. On short texts several shares are the same number
    of features; each counts, and each distinct input is run once. Higher is better.
    Reference: DeYoung et al. 2020. Cost: at most |B| forward passes for each target, and 1 for the untouched input.
    """
    counts = share_counts(steps, game.n_features, rounding=rounding)
    return mean_over_shares(removal_drop(explanation, game, counts), divisor)


@metric(cite="deyoung2020", higher_is_better=False)
def aopc_sufficiency(
    explanation: Explanation,
    game: Game,
    *,
    steps: int | None = None,
    divisor: Divisor = "shares",
    rounding: Rounding = "round",
) -> Floats:
    """Average the drop in score with the top features alone over several shares, one value per target.

        aopc = 1/|B| sum over k in B of suff(k),   B = 1, 5, 10, 20, 50 %

    `steps=19` takes the shares 5, 10, ..., 95 % (Brinner and Zarriess 2023). The code of Barkan et al. 2024 divides by
    |B| + 1, rounds down, and gives a share of no features the value 0: `divisor="published", rounding="floor"`.
    Lower is better.
    Reference: DeYoung et al. 2020. Cost: at most |B| forward passes for each target, and 1 for the untouched input.
    """
    counts = share_counts(steps, game.n_features, rounding=rounding)
    return mean_over_shares(keep_drop(explanation, game, counts), divisor)


@metric(cite="shrikumar2017", higher_is_better=False)
def log_odds(explanation: Explanation, game: Game, *, share: float = 0.2, rounding: Rounding = "round") -> Floats:
    """Measure the change of the log-probability without the top features, one value per target.

        lo = ln p(x without the top k % features) - ln p(x),   p kept at or above 1e-7

    The name is that of the literature; odds do not enter. The game must be one of probabilities, and "removed" is meant
    to be the mask token. `rounding="floor"` is Barkan et al. 2024's, whose code does not clip. Lower is better.
    Reference: Shrikumar et al. 2017, as used by Barkan et al. 2024. Cost: 1 forward pass for each target, and 1 for the
    untouched input.
    """
    check_share("share", share)
    after = removal_curve(explanation, game, [top_count(share, game.n_features, rounding=rounding)])[:, 0]
    both = np.stack([game.full, after])
    if (both < -TOLERANCE).any() or (both > 1 + TOLERANCE).any():
        raise SettingError("'log_odds' needs probabilities; use the score 'probability'.")
    before, after = np.log(np.maximum(both, CLIP))
    return np.asarray(after - before)
