"""Game: which features are present -> the score of each target."""

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from whylight.core import progress
from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.scores import Scores
from whylight.views.meter import Meter
from whylight.views.view import View

T = TypeVar("T")
BLOCK_BYTES = 2**26
"""Memory for keep masks that are laid out together; those of a text of up to 8,000 words with each left out fit."""


class Game(View):
    """A model and an input as a cooperative game: features are players, the score of a target is the value.

    Args:
        value: Scores `[coalitions, targets]` of keep masks `[coalitions, features]`.
        n_features: Number of players.
        n_targets: Number of targets.
        blocks: Groups of features that the model encodes independently (windows, chunks); they may overlap.
            One block of everything if left out.
        meter: Where passes are counted.
        levels: Gives the larger stretches that features lie in, coarse first: a number for each feature.
        positions: Gives where features lie, `[features, dims]`; one behind the other, if left out.
    """

    seen = "answers to inputs without some features"
    removes = True

    def __init__(  # noqa: PLR0913  one keyword per fact; there is nothing to group
        self,
        value: Callable[[Bools], Floats],
        *,
        n_features: int,
        n_targets: int = 1,
        blocks: tuple[Ints, ...] | None = None,
        meter: Meter | None = None,
        levels: Callable[[], tuple[Ints, ...]] = tuple,
        positions: Callable[[], Floats] | None = None,
    ) -> None:
        self._value = value
        self.n_features = n_features
        self.n_targets = n_targets
        self.meter = meter or Meter()
        self.blocks = (np.arange(n_features),) if blocks is None else blocks
        self._levels = levels
        self._positions = positions
        self._found: dict[tuple[Hashable, ...], Any] = {}

    def __call__(self, keep: Bools) -> Floats:
        """Return the scores `[coalitions, targets]` of keep masks `[coalitions, features]`."""
        return self._value(keep) if len(keep) else np.empty((0, self.n_targets))

    def in_blocks(self, count: int, coalitions: Callable[[Ints], Bools]) -> Floats:
        """Return the scores of many coalitions, `[count, targets]`, which are never in memory all at once.

        Args:
            count: How many there are.
            coalitions: Makes the keep masks `[numbers, features]` of some of them, by their numbers from 0.
        """
        size = block_size(self.n_features)
        scores = np.empty((count, self.n_targets))
        with progress.blocks(-(-count // size)) as begin:
            for start in range(0, count, size):
                begin()
                numbers = np.arange(start, min(start + size, count))
                scores[numbers] = self(coalitions(numbers))
        return scores

    def once(self, find: Callable[..., T], *settings: Hashable) -> T:
        """Return `find(game, *settings)`, found once however many explanations are measured by it."""
        key = (find, *settings)
        if key not in self._found:
            self._found[key] = find(self, *settings)
        found: T = self._found[key]
        return found

    @cached_property
    def levels(self) -> tuple[Ints, ...]:
        """The larger stretches that features lie in, coarse first: of a text paragraphs and sentences, `[features]`."""
        return self._levels()

    @cached_property
    def positions(self) -> Floats:
        """Where features lie, `[features, dims]`."""
        return np.arange(float(self.n_features))[:, None] if self._positions is None else self._positions()

    @cached_property
    def full(self) -> Floats:
        """Scores of the untouched input, `[targets]`."""
        return np.asarray(self(np.ones((1, self.n_features), dtype=bool))[0])

    @cached_property
    def empty(self) -> Floats:
        """Scores with every feature removed, `[targets]`."""
        return np.asarray(self(np.zeros((1, self.n_features), dtype=bool))[0])

    def complete(self, values: Floats, *, notes: tuple[str, ...] = ()) -> Scores:
        """Return scores that should sum to f(all features) - f(none), with the gap by which they miss it."""
        return Scores(values, gap=values.sum(axis=1) - (self.full - self.empty), notes=notes)


def block_size(n_features: int) -> int:
    """Return how many keep masks are laid out together."""
    return max(1, BLOCK_BYTES // max(1, n_features))
