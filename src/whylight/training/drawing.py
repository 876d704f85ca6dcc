"""Which trials of a search come next.

A trial has a place, counted from 0, and knows what the trials at the first so many places gave: those of the rounds
before its own. Both stand in its attributes, so that a search that goes on asks for the same trials again. Places are
drawn one by one by Optuna's TPE from what they know, each with a stream of its own, (seed, place); where there are only
choices, and no more combinations than trials, all of them are tried in their order.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.trial import FrozenTrial, TrialState

from whylight.training.search import Space, every_point
from whylight.training.trials import FINISHED, past_study

PLACE, KNOWS = "place", "knows"
"""Attributes of a trial."""


@dataclass(frozen=True, slots=True)
class Draw:
    """A trial that is to come.

    Attributes:
        place: Its place.
        knows: How many trials before it it knows of.
        parameters: What was drawn.
    """

    place: int
    knows: int
    parameters: Mapping[str, Any]


def by_place(trials: Iterable[FrozenTrial]) -> dict[int, FrozenTrial]:
    """Return finished trials by their places; those of earlier versions, which had none, come in their order."""
    found: dict[int, FrozenTrial] = {}
    for one in sorted(trials, key=lambda own: own.number):
        if one.state in FINISHED:
            found[one.user_attrs.get(PLACE, len(found))] = one
    return found


def next_round(study: optuna.Study, space: Space, *, seed: int, most: int, together: int) -> list[Draw]:
    """Return the trials that are to come together: those that were stopped, else new ones; none if that is all.

    Args:
        study: The search so far; no trial of it is running.
        space: What is drawn.
        seed: Of the search.
        most: Trials in all.
        together: Trials of a round.
    """
    trials = study.get_trials(deepcopy=False)
    done = by_place(trials)
    if len(done) >= most:
        return []
    stopped = {one.user_attrs[PLACE]: one for one in trials if one.state is TrialState.FAIL and PLACE in one.user_attrs}
    left = [one for place, one in sorted(stopped.items()) if place not in done and one.params.keys() == space.keys()]
    if left:
        return [Draw(one.user_attrs[PLACE], one.user_attrs[KNOWS], one.params) for one in left]
    places = range(len(done), min(len(done) + together, most))
    points = every_point(space, at_most=most)
    if points:
        tried = [one.params for one in done.values()]
        untried = [point for point in points if point not in tried]
        return [Draw(place, len(done), point) for place, point in zip(places, untried, strict=False)]
    past = known_to(done, len(done))
    return [Draw(place, len(done), _drawn(past, space, seed, place)) for place in places]


def known_to(done: Mapping[int, FrozenTrial], knows: int) -> list[FrozenTrial]:
    """Return the trials at the first so many places."""
    return [one for place, one in sorted(done.items()) if place < knows]


def _drawn(past: Sequence[FrozenTrial], space: Space, seed: int, place: int) -> dict[str, Any]:
    stream = np.random.SeedSequence((seed, place)).generate_state(1)
    with past_study(past, sampler=optuna.samplers.TPESampler(seed=int(stream[0]))) as study:
        return study.ask(dict(space)).params
