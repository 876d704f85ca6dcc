"""A game whose players are groups of features: patches of a picture whose features are pixels.

    v(players) = v(all features of these players)        features share the score of their player out equally

So a method that asks about hundreds of coalitions plays with some hundred patches, and its scores can still be held
against those of methods that score every pixel.
"""

from collections.abc import Callable

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints
from whylight.views.game import Game
from whylight.views.meter import Meter

COALITIONS_AT_ONCE = 128
"""Whose features are laid out in memory together."""


class GroupedGame(Game):
    """A game of groups of features.

    Args:
        value: Scores `[coalitions, targets]` of keep masks of features, `[coalitions, features]`.
        group: The player that each feature belongs to, `[features]`, from 0 without a gap.
        n_targets: Number of targets.
        meter: Where passes are counted.
        positions: Gives where players lie, `[players, dims]`.
    """

    def __init__(
        self,
        value: Callable[[Bools], Floats],
        *,
        group: Ints,
        n_targets: int,
        meter: Meter,
        positions: Callable[[], Floats] | None = None,
    ) -> None:
        self._of_features, self._group = value, group
        self._sizes = np.bincount(group)
        super().__init__(
            self._of_players, n_features=len(self._sizes), n_targets=n_targets, meter=meter, positions=positions
        )

    def _of_players(self, keep: Bools) -> Floats:
        starts = range(0, len(keep), COALITIONS_AT_ONCE)
        return np.concatenate(
            [self._of_features(keep[start : start + COALITIONS_AT_ONCE][:, self._group]) for start in starts]
        )

    def spread(self, values: Floats) -> Floats:
        """Share the score of each player out equally among its features, `[targets, features]`."""
        return np.asarray((values / self._sizes)[:, self._group])
