"""Comprehensiveness: how much the score falls when the most important features are taken away.

    comp = f(x) - f(x without the top k % features)

k % of n features are max(1, round(k n)); `rounding="floor"` is Barkan et al. 2024's, which can take none.
Features are ranked by signed score, ties in reading order. Higher is better: what the explanation names mattered.
Reference: DeYoung et al. 2020. Cost: 2 forward passes for each target.
"""

from typing import Literal

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.views.game import Game


@metric(cite="deyoung2020", higher_is_better=True)
def comprehensiveness(
    explanation: Explanation, game: Game, *, share: float = 0.2, rounding: Literal["round", "floor"] = "round"
) -> Floats:
    """Measure the drop in score without the top features, one value a target."""
    if not 0 < share <= 1:
        raise SettingError(f"the setting 'share' must lie above 0 and be at most 1, not {share:g}.")
    exact = share * game.n_features
    count = int(exact) if rounding == "floor" else max(1, int(exact + 0.5))
    rows = np.stack([explanation.row(target) for target in explanation.targets])
    order = np.argsort(-rows, axis=1, kind="stable")
    keep = np.ones(rows.shape, dtype=bool)
    np.put_along_axis(keep, order[:, :count], values=False, axis=1)
    return game.full - np.diagonal(game(keep))
