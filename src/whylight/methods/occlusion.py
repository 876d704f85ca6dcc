"""Occlusion, also leave-one-out: how much the score drops without a feature.

    a_i = f(x) - f(x without i)

With a window wider than 1 a feature gets the mean drop of the windows that cover it. Windows are stretches of a text,
and squares of patches of a picture; one begins at every feature, or every `stride` of them, and the last ones end with
the input.
Reference: Zeiler and Fergus 2014; Li et al. 2016. Cost: one forward pass per feature, and one; or one per wider window.
The first paper's code takes absolute values; here the sign stays.
"""

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.errors import SettingError
from whylight.core.registry import method
from whylight.methods._pull import grid_of
from whylight.views.game import Game


@method(
    cite="zeiler2014",
    signed=True,
    cost="n + 1 forward",
    good_for="a first look at any model, easy to explain to others",
)
def occlusion(game: Game, *, window: int = 1, stride: int | None = None) -> Floats:
    """Score each feature by the drop in the target's score without it."""
    if window < 1:
        raise SettingError(f"the setting 'window' must be at least 1, not {window}.")
    step = 1 if stride is None else stride
    if not 1 <= step <= window:
        raise SettingError(f"the setting 'stride' must be between 1 and the window, {window}, not {stride}.")
    covered = _windows(_grid(game, window), window, step)

    def without(numbers: Ints) -> Bools:
        keep = np.ones((len(numbers), game.n_features), dtype=bool)
        np.put_along_axis(keep, covered[numbers], values=False, axis=1)
        return keep

    drops = game.full - game.in_blocks(len(covered), without)  # [windows, targets]
    times = np.bincount(covered.ravel())
    each = [np.bincount(covered.ravel(), np.repeat(drop, covered.shape[1])) for drop in drops.T]
    return np.stack(each) / times


def _grid(game: Game, window: int) -> tuple[int, int]:
    """Return rows and columns of features; those of a text stand in one row."""
    in_a_row = 1, game.n_features
    if window == 1 or game.positions.shape[1] == 1:
        return in_a_row
    found = grid_of(game.positions)
    if found is None:
        raise SettingError("windows of several features are for patches, which lie in a grid; regions have none.")
    return found


def _windows(grid: tuple[int, int], window: int, stride: int) -> Ints:
    """Return the features of each window, `[windows, features]`."""
    sides = [min(window, size) for size in grid]
    starts = [
        np.unique(np.append(np.arange(0, size - side + 1, stride), size - side))
        for size, side in zip(grid, sides, strict=True)
    ]
    rows, columns = (start[:, None] + np.arange(side) for start, side in zip(starts, sides, strict=True))
    found = rows[:, None, :, None] * grid[1] + columns[None, :, None, :]
    return np.asarray(found.reshape(len(rows) * len(columns), -1), dtype=np.int64)
