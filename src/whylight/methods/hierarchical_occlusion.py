"""Hierarchical occlusion: leave out large stretches first, and look closer at the best of them alone.

    a_P = f(x) - f(x without P)          of every paragraph P, then of the sentences of the best paragraphs, then of the
                                         features of the best sentences

`opened` stretches are opened at each level, those without which the score falls most. What was left out by itself has
exactly the score of `occlusion`; a feature of a stretch that stayed closed gets its share of the stretch's score, the
same for each. Blank lines end paragraphs. Levels that divide nothing are passed over, so that a text of one sentence is
explained as `occlusion` does it. `check=true` also leaves out every feature, and says how much of that was found.

Reference: Liu et al. 2025 (AttriBoT). Cost: one forward pass per stretch that is left out, and one. Of m paragraphs of
s sentences of w words, of which k are opened, that is m + k s + k w + 1, where occlusion takes m s w + 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.errors import SettingError
from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.views.game import Game

TINY = 1e-300
Part = tuple[int, ...]
"""Features that are left out together."""


@method(
    cite="liu2025",
    signed=True,
    cost="n + 1 forward, far fewer of several paragraphs",
    good_for="which passage and sentence of a long context an answer comes from",
)
def hierarchical_occlusion(game: Game, *, opened: int = 2, check: bool = False) -> Scores:
    """Score stretches by the drop without them, and open the best: paragraphs, sentences, features."""
    if opened < 1:
        raise SettingError(f"the setting 'opened' must be at least 1, not {opened}.")
    search = _Search(game)
    everything = tuple(range(game.n_features))
    own: list[list[Part]] = [[everything]] * game.n_targets
    for level in (*game.levels, np.arange(game.n_features)):
        parts = [[piece for part in parts for piece in _divided(part, level)] for parts in own]
        if parts == own and game.n_features > 1:
            continue
        search.leave_out(dict.fromkeys(piece for each in parts for piece in each))
        for target, each in enumerate(parts):
            search.share(target, each)
        own = [search.best(target, each, opened) for target, each in enumerate(parts)]
    notes = search.notes(check=check)
    return Scores(search.values, notes=notes)


def _divided(part: Part, level: Ints) -> list[Part]:
    """Divide a stretch where the number of its features at a level changes."""
    numbers = level[list(part)]
    return [tuple(np.asarray(part)[numbers == number].tolist()) for number in dict.fromkeys(numbers.tolist())]


@dataclass(eq=False)
class _Search:
    """What was left out, and what that told.

    Attributes:
        game: The game.
        drops: How far the score of each target falls without a stretch.
        values: The scores so far, `[targets, features]`.
        shared: Whether a feature has a share of a stretch's score, and none of its own, `[targets, features]`.
    """

    game: Game
    drops: dict[Part, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = (self.game.n_targets, self.game.n_features)
        self.values, self.shared = np.zeros(shape), np.zeros(shape, dtype=bool)

    def leave_out(self, parts: Sequence[Part] | dict[Part, None]) -> None:
        """Ask what the score is without each of some stretches."""
        fresh = [part for part in parts if part not in self.drops]

        def without(numbers: Ints) -> Bools:
            keep = np.ones((len(numbers), self.game.n_features), dtype=bool)
            for row, number in enumerate(numbers):
                keep[row, list(fresh[number])] = False
            return keep

        found = self.game.full - self.game.in_blocks(len(fresh), without)
        self.drops |= dict(zip(fresh, found, strict=True))

    def share(self, target: int, parts: Sequence[Part]) -> None:
        """Give each feature its share of what its stretch counts for."""
        for part in parts:
            self.values[target, list(part)] = self.drops[part][target] / len(part)
            self.shared[target, list(part)] = len(part) > 1

    def best(self, target: int, parts: Sequence[Part], opened: int) -> list[Part]:
        """Return the stretches without which a target falls most; the first of equals."""
        return sorted(parts, key=lambda part: -self.drops[part][target])[:opened]

    def notes(self, *, check: bool) -> tuple[str, ...]:
        """Say what was asked, what was shared out, and how much of exact leave-one-out was found."""
        asked, plain = len(self.drops) + 1, self.game.n_features + 1
        count = _listed([str(int(row.sum())) for row in self.shared])
        shared = (
            f"{asked} evaluations, where leave-one-out takes {plain}; features that were not left out one by one share "
            f"the score of their stretch equally ({count} of {self.game.n_features})"
        )
        return (*([shared] if self.shared.any() else []), *([self._recovered()] if check else []))

    def _recovered(self) -> str:
        """Leave out every feature, and say how much of what speaks for a target was among those left out before."""
        every = [(number,) for number in range(self.game.n_features)]
        self.leave_out(every)
        exact = np.stack([self.drops[part] for part in every], axis=1)  # [targets, features]
        speaking = np.maximum(exact, 0)
        found = np.where(self.shared, 0.0, speaking).sum(axis=1) / np.maximum(speaking.sum(axis=1), TINY)
        first = ["missed" if hidden[row.argmax()] else "found" for row, hidden in zip(exact, self.shared, strict=True)]
        shares = _listed(
            [f"{share:.0%}" if row.any() else "nothing" for share, row in zip(found, speaking, strict=True)]
        )
        told = f"{shares} of what speaks for the target was recovered, its first feature {_listed(first)}"
        return f"exact leave-one-out: {told}"


def _listed(values: Sequence[str]) -> str:
    return ", ".join(values)
