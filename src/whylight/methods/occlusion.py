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
    rows, columns = (_Stretches(size, window, step) for size in _grid(game, window))

    def without(numbers: Ints) -> Bools:
        down, across = np.divmod(numbers, columns.count)
        keep = rows.outside(down)[:, :, None] | columns.outside(across)[:, None]
        return keep.reshape(len(numbers), -1)

    drops = game.full - game.in_blocks(rows.count * columns.count, without)  # [windows, targets]
    by_place = drops.reshape(rows.count, columns.count, -1)
    total = columns.spread(rows.spread(by_place).swapaxes(0, 1)).swapaxes(0, 1)  # [rows, columns, targets]
    times = np.outer(rows.spread(np.ones(rows.count)), columns.spread(np.ones(columns.count)))
    return (total / times[..., None]).reshape(-1, game.n_targets).T


class _Stretches:
    """Stretches of one length along a side, only whose starts are kept: they overlap.

    Args:
        size: Length of the side.
        window: Length of a stretch, where the side is as long.
        stride: From one start to the next; the last stretch ends with the side.
    """

    def __init__(self, size: int, window: int, stride: int) -> None:
        self._size, self._length = size, min(window, size)
        last = size - self._length
        self._starts = np.unique(np.append(np.arange(0, last + 1, stride), last))
        self.count = len(self._starts)

    def outside(self, numbers: Ints) -> Bools:
        """Say which places are outside of some stretches, `[numbers, places]`."""
        places, starts = np.arange(self._size), self._starts[numbers, None]
        found = places < starts
        found |= places >= starts + self._length
        return np.asarray(found)

    def spread(self, values: Floats) -> Floats:
        """Add what stands by each stretch, `[stretches, ...]`, to all of its places, `[places, ...]`.

        One offset is added at a time: differences that are summed up would leave noise where all drops are 0.
        """
        found = np.zeros((self._size, *values.shape[1:]))
        for offset in range(self._length):
            found[self._starts + offset] += values
        return found


def _grid(game: Game, window: int) -> tuple[int, int]:
    """Return rows and columns of features; those of a text stand in one row."""
    in_a_row = 1, game.n_features
    if window == 1 or game.positions.shape[1] == 1:
        return in_a_row
    found = grid_of(game.positions)
    if found is None:
        raise SettingError("windows of several features are for patches, which lie in a grid; regions have none.")
    return found
