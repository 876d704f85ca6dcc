"""Solvex: the order of features that a faithfulness metric likes best, found by a beam search for it.

    o = argmax over orders of  sum over k = 1..n of  f(S_k) - f(x without S_k),     S_k = the first k of the order

That is `comp_suff`; `suff` has the first term alone and `comp` the second. The search starts with the empty order and
gives the next rank to one more feature at a time; the `beam` best orders so far are kept. Sets are scored once,
whatever orders lead to them.
The score of a feature is its rank, moved by a constant so that as many signs as possible are those of the feature
alone: of f(x) - f(x without it), for `suff` of f(it) - f(nothing).
Reference: Zhou and Shah 2023, whose code runs `comp_suff` alone and has no bound. Cost: at most `beam` x n (n + 1)
forward passes, half of that for `comp` and `suff`, and never more than `max_evaluations` per target.
Where that bound would be passed, the beam is narrowed from the start so that the search reaches the end; where even one
order is too much, the last ranks go by the value of each feature alone. The receipt says so.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.core.labels import SCORE_SPACES
from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.views.game import Game

Objective = Literal["comp_suff", "comp", "suff"]
SIDES: dict[Objective, tuple[bool, bool]] = {"comp_suff": (True, True), "comp": (False, True), "suff": (True, False)}
"""Whether a set is looked at alone, and whether it is looked at by what is left without it."""


@method(cite="zhou2023", signed=True, scores=("probability", *(one for one in SCORE_SPACES if one != "probability")))
def solvex(game: Game, *, objective: Objective = "comp_suff", beam: int = 50, max_evaluations: int = 100_000) -> Scores:
    """Search the order of features by which comprehensiveness and sufficiency are best."""
    if beam < 1:
        raise SettingError(f"the setting 'beam' must be at least 1, not {beam}.")
    fewest = 1 + sum(SIDES[objective]) * game.n_features
    if max_evaluations < fewest:
        raise SettingError(f"the setting 'max_evaluations' must be at least {fewest} here, not {max_evaluations}.")
    worth, rows, notes = _Worth(game, objective), list[Floats](), list[str]()
    for target in range(game.n_targets):
        search = _BeamSearch(worth, target, beam, max_evaluations)
        order = search.order()
        rows.append(_ranked(order, worth.alone(target)) if worth.varies(target) else np.zeros(game.n_features))
        notes += search.notes
    return Scores(np.stack(rows), notes=tuple(dict.fromkeys(notes)))


def _ranked(order: Sequence[int], alone: Floats) -> Floats:
    """Turn an order into scores: ranks, moved so that as many signs as possible are those of the features alone."""
    n = len(order)
    ranks = np.empty(n)
    ranks[list(order)] = np.arange(n - 1, -1, -1)
    moved = ranks - np.arange(-0.5, n)[:, None]  # [constants, features]
    agreeing = (np.sign(moved) == np.sign(alone)).sum(axis=1)
    return np.asarray(moved[int(agreeing.argmax())])


class _Worth:
    """What sets of features are worth to an objective; each coalition is scored once, for all targets.

    A set is a whole number, whose bits are its features.

    Args:
        game: The game.
        objective: What is looked at of a set.
    """

    def __init__(self, game: Game, objective: Objective) -> None:
        self._game, self.n = game, game.n_features
        self.everything = (1 << self.n) - 1
        self._kept, self._left = SIDES[objective]
        self.sides = self._kept + self._left
        self._known: dict[int, Floats] = {}

    def coalitions(self, chosen: Iterable[int]) -> list[int]:
        """Return the coalitions that have to be scored for some sets, each once."""
        sets = list(chosen)
        kept = sets if self._kept else []
        left = [self.everything ^ one for one in sets] if self._left else []
        return list(dict.fromkeys([*kept, *left]))

    def score(self, coalitions: Iterable[int]) -> None:
        """Score those of the coalitions that are not known, together."""
        new = [one for one in coalitions if one not in self._known]
        values = self._game.in_blocks(len(new), lambda numbers: self._masks([new[i] for i in numbers]))
        self._known.update(zip(new, values, strict=True))

    def __call__(self, chosen: int, target: int) -> float:
        """Return what a set that was scored adds to the objective."""
        kept = self._known[chosen][target] if self._kept else 0.0
        left = self._known[self.everything ^ chosen][target] if self._left else 0.0
        return float(kept - left)

    def varies(self, target: int) -> bool:
        """Say whether it matters to a target what is there; where nothing does, no order is better than another."""
        values = [scores[target] for scores in self._known.values()]
        return bool(min(values) != max(values))

    def alone(self, target: int) -> Floats:
        """Return how far the score falls without each feature, or rises by it alone; known after a search."""
        each = [1 << i for i in range(self.n)]
        if self._left:
            return np.asarray([self._game.full[target] - self._known[self.everything ^ one][target] for one in each])
        return np.asarray([self._known[one][target] - self._game.empty[target] for one in each])

    def _masks(self, coalitions: Sequence[int]) -> Bools:
        """Lay out sets as keep masks `[coalitions, features]`."""
        size = -(-self.n // 8)
        raw = b"".join(one.to_bytes(size, "little") for one in coalitions)
        packed = np.frombuffer(raw, dtype=np.uint8).reshape(len(coalitions), size)
        return np.unpackbits(packed, axis=1, count=self.n, bitorder="little").astype(bool)


class _Order(NamedTuple):
    """The first features of an order, as a set too, and what it is worth so far."""

    features: tuple[int, ...] = ()
    chosen: int = 0
    total: float = 0.0

    def followed_by(self, feature: int, worth: float) -> "_Order":
        return _Order((*self.features, feature), self.chosen | 1 << feature, self.total + worth)


@dataclass(eq=False)
class _BeamSearch:
    """The search of one target's order.

    Attributes:
        worth: What sets are worth.
        target: The target.
        beam: Orders that are kept at each step.
        most: Coalitions that may be scored, counted as if no other target had asked for any.
        notes: What happened on the way.
    """

    worth: _Worth
    target: int
    beam: int
    most: int
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._asked: set[int] = set()

    def order(self) -> list[int]:
        """Return all features, the one that counts most first."""
        beam = [_Order()]
        for remaining in range(self.worth.n, 0, -1):
            width = self._width(remaining)
            if not width:
                return self._finished(beam[0])
            if width < len(beam) and not self.notes:
                self.notes.append(f"the beam of {self.beam} was narrowed, because max_evaluations is {self.most:,}")
            beam = self._longer(beam[:width])
        return list(beam[0].features)

    def _width(self, remaining: int) -> int:
        """Return how many orders can be kept so that what is left of the evaluations reaches to the end."""
        left, sides = self.most - 1 - len(self._asked), self.worth.sides  # one is for the features alone
        width = min(self.beam, 2 * left // (sides * remaining * (remaining + 1)))
        return max(width, int(left >= sides * remaining))

    def _longer(self, beam: Sequence[_Order]) -> list[_Order]:
        """Add one more feature to every order of the beam, in every way, and return the best."""
        pairs = [(order, i) for order in beam for i in range(self.worth.n) if not order.chosen >> i & 1]
        coalitions = self.worth.coalitions(order.chosen | 1 << i for order, i in pairs)
        self._asked.update(coalitions)
        self.worth.score(coalitions)
        every = [order.followed_by(i, self.worth(order.chosen | 1 << i, self.target)) for order, i in pairs]
        return sorted(every, key=lambda one: -one.total)[: self.beam]  # stable: ties in reading order

    def _finished(self, order: _Order) -> list[int]:
        """Put the features that no evaluation was left for behind the others, by what each is worth alone."""
        found = f"{len(order.features):,} of {self.worth.n:,} ranks were searched; the others go by each feature alone"
        self.notes = [f"max_evaluations is {self.most:,}: {found}"]
        rest = [i for i in range(self.worth.n) if i not in order.features]
        return [*order.features, *sorted(rest, key=lambda i: -self.worth(1 << i, self.target))]
