"""Orders of the features of a game: a beam search for the one whose sets are worth most.

    o = argmax over orders of  sum over k = 1..n of  kept f(S_k) + left f(x without S_k),     S_k = the first k of o

`kept` and `left` are numbers, e.g. 1 and -1. The search starts with the empty order and gives the next place to one
more feature at a time; the `beam` best orders so far are kept. A set is a whole number, whose bits are its features,
and is scored once, whatever orders lead to it and for all targets.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from whylight.core import progress
from whylight.core.arrays import Bools, Floats
from whylight.views.game import Game


class SetScores:
    """What a game says of sets of features; each is asked for once.

    Args:
        game: The game.
    """

    def __init__(self, game: Game) -> None:
        self.game, self.n = game, game.n_features
        self.everything = (1 << self.n) - 1
        self._known: dict[int, Floats] = {}

    def __getitem__(self, present: int) -> Floats:
        """Return the scores `[targets]` of a set that was asked for."""
        return self._known[present]

    def ask(self, sets: Iterable[int]) -> None:
        """Ask for those of the sets that are not known, together."""
        new = [one for one in dict.fromkeys(sets) if one not in self._known]
        values = self.game.in_blocks(len(new), lambda numbers: self._masks([new[i] for i in numbers]))
        self._known.update(zip(new, values, strict=True))

    def vary(self, target: int) -> bool:
        """Say whether it matters to a target which features are present, as far as is known."""
        values = [scores[target] for scores in self._known.values()]
        return bool(min(values) != max(values))

    def _masks(self, sets: Sequence[int]) -> Bools:
        """Lay out sets as keep masks `[sets, features]`."""
        size = -(-self.n // 8)
        raw = b"".join(one.to_bytes(size, "little") for one in sets)
        packed = np.frombuffer(raw, dtype=np.uint8).reshape(len(sets), size)
        return np.unpackbits(packed, axis=1, count=self.n, bitorder="little").astype(bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What a set adds to what an order is worth.

    Attributes:
        scores: What the game says.
        kept: How much the score of the set alone counts.
        left: How much the score of what is left without it counts.
    """

    scores: SetScores
    kept: int
    left: int

    @property
    def sides(self) -> int:
        """How many scores it takes to know what a set is worth."""
        return bool(self.kept) + bool(self.left)

    def asked(self, chosen: Iterable[int]) -> list[int]:
        """Return the sets whose scores tell what some sets are worth."""
        sets = list(chosen)
        kept = sets if self.kept else []
        left = [self.scores.everything ^ one for one in sets] if self.left else []
        return [*kept, *left]

    def __call__(self, chosen: int, target: int) -> float:
        """Return what a set is worth whose scores are known."""
        kept = self.kept * self.scores[chosen][target] if self.kept else 0.0
        left = self.left * self.scores[self.scores.everything ^ chosen][target] if self.left else 0.0
        return float(kept + left)


class _Order(NamedTuple):
    """The first features of an order, as a set too, and what it is worth so far."""

    features: tuple[int, ...] = ()
    chosen: int = 0
    total: float = 0.0

    def followed_by(self, feature: int, worth: float) -> "_Order":
        return _Order((*self.features, feature), self.chosen | 1 << feature, self.total + worth)


@dataclass(eq=False, kw_only=True)
class BeamSearch:
    """The search of one target's order.

    Attributes:
        worth: What sets are worth.
        target: The target.
        beam: Orders that are kept at each step.
        most: Scores that may be asked for, counted as if no other target had asked for any; None for no bound.
        distinct: Whether of several orders of the same features the best alone is kept: what comes after is the same
            to all of them.
        notes: What happened on the way.
    """

    worth: Worth
    target: int
    beam: int
    most: int | None = None
    distinct: bool = False
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.n = self.worth.scores.n
        self._asked: set[int] = set()

    def order(self) -> list[int]:
        """Return all features, the one that counts most first."""
        beam = [_Order()]
        with progress.blocks(self.n) as begin:
            for remaining in range(self.n, 0, -1):
                begin()
                width = self._width(remaining)
                if not width:
                    return self._finished(beam[0])
                if width < len(beam) and not self.notes:
                    self.notes.append(f"the beam of {self.beam} was narrowed, because max_evaluations is {self.most:,}")
                beam = self._longer(beam[:width])
        return list(beam[0].features)

    def _width(self, remaining: int) -> int:
        """Return how many orders can be kept so that what is left of the evaluations reaches to the end."""
        if self.most is None:
            return self.beam
        left, sides = self.most - 1 - len(self._asked), self.worth.sides  # one is for the features alone
        width = min(self.beam, 2 * left // (sides * remaining * (remaining + 1)))
        return max(width, int(left >= sides * remaining))

    def _longer(self, beam: Sequence[_Order]) -> list[_Order]:
        """Add one more feature to every order of the beam, in every way, and return the best."""
        pairs = [(order, i) for order in beam for i in range(self.n) if not order.chosen >> i & 1]
        asked = self.worth.asked(order.chosen | 1 << i for order, i in pairs)
        self._asked.update(asked)
        self.worth.scores.ask(asked)
        every = [order.followed_by(i, self.worth(order.chosen | 1 << i, self.target)) for order, i in pairs]
        every.sort(key=lambda one: -one.total)  # stable: ties in reading order
        if self.distinct:
            best: dict[int, _Order] = {}
            for one in every:
                best.setdefault(one.chosen, one)
            every = list(best.values())
        return every[: self.beam]

    def _finished(self, order: _Order) -> list[int]:
        """Put the features that no evaluation was left for behind the others, by what each is worth alone."""
        found = f"{len(order.features):,} of {self.n:,} ranks were searched; the others go by each feature alone"
        self.notes = [f"max_evaluations is {self.most:,}: {found}"]
        rest = [i for i in range(self.n) if i not in order.features]
        return [*order.features, *sorted(rest, key=lambda i: -self.worth(1 << i, self.target))]
