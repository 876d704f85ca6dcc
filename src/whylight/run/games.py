"""What the metrics of a run ask of a record: the games of its labels, and all questions in one go."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.labels import Target
from whylight.explaining import provide
from whylight.explaining.case import Case, open_case
from whylight.run.plan import Plan
from whylight.views.classifier import Request
from whylight.views.game import BLOCK_BYTES, Game

HALF = 0.5
"""An answer that no metric stumbles over."""


def only(explanation: Explanation, target: Target) -> Explanation:
    """Return the part of an explanation that is about one target."""
    return replace(explanation, targets=(target,), scores=explanation.row(target)[None])


def asked_case(case: Case, plan: Plan) -> Case:
    """Return the record in front of the classifier that metrics ask, if that is another than the explained one."""
    if plan.metric_model is None:
        return case
    other = open_case(plan.metric_model, case.encoded.example, unit=plan.options.unit, long=plan.options.long)
    if other.encoded.places != case.encoded.places:
        raise SettingError("the metric model cuts texts into other features than the explained one; was one truncated?")
    return other


def games_of(case: Case, plan: Plan, target: Target) -> dict[str, Game]:
    """Return the game of a target under each remover."""
    return {one.called: provide.game(case, Request((target,), plan.space), one) for one in plan.removals}


def ask_at_once(explained: Sequence[Explanation], games: dict[Target, dict[str, Game]], plan: Plan) -> None:
    """Find out what all metrics will ask of each game, and ask it in one go: large batches run faster.

    Metrics are tried on a game that writes down what it is asked. What a metric would ask only after some answer is
    asked when it is measured; one that searches would ask for what nobody needs.
    """
    measures = [(spec, settings) for spec, settings in plan.metrics_on(Game) if not spec.facts["searches"]]
    for target, own in games.items():
        for game in own.values():
            paper, asked = _paper(game.n_features)
            for explanation in explained:
                if target in explanation.targets:
                    for spec, settings in measures:
                        spec.function(only(explanation, target), paper, **settings)
            if asked:
                game(np.unique(np.concatenate(asked), axis=0))


def _paper(n_features: int) -> tuple[Game, list[Bools]]:
    """Return a game that writes down what it is asked, and where; of a very long text, as much as fits."""
    asked: list[Bools] = []

    def write_down(keep: Bools) -> Floats:
        if sum(one.nbytes for one in asked) + keep.nbytes <= BLOCK_BYTES:
            asked.append(keep)
        return np.full((len(keep), 1), HALF)

    return Game(write_down, n_features=n_features), asked
