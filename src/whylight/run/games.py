"""What the metrics of a run ask of a record: the games of its labels, and all questions in one go."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.inputs import Settings
from whylight.core.labels import Target
from whylight.core.registry import Spec
from whylight.explaining import provide
from whylight.explaining.case import Case, open_case
from whylight.run.plan import Plan
from whylight.store.columns import Cells
from whylight.views.classifier import Request
from whylight.views.game import BLOCK_BYTES, Game

HALF = 0.5
"""An answer that no metric stumbles over."""


def only(explanation: Explanation, target: Target) -> Explanation:
    """Return the part of an explanation that is about one target."""
    receipt = explanation.provenance
    if receipt.completeness_gap is not None:
        receipt = replace(receipt, completeness_gap=(receipt.completeness_gap[explanation.targets.index(target)],))
    return replace(explanation, targets=(target,), scores=explanation.row(target)[None], provenance=receipt)


def asked_case(case: Case, plan: Plan) -> Case:
    """Return the record in front of the classifier that metrics ask, if that is another than the explained one."""
    if plan.metric_model is None:
        return case
    other = open_case(plan.metric_model, case.encoded.example, unit=plan.options.unit, long=plan.options.long)
    if other.encoded.places != case.encoded.places:
        raise SettingError("the metric model cuts texts into other features than the explained one; was one truncated?")
    return other


def games_of(case: Case, plan: Plan, target: Target, lacking: Cells) -> dict[str, Game]:
    """Return the game of a target under each remover that something lacks a value of."""
    names = {remover for _, (_, _, remover) in lacking}
    removals = [one for one in plan.removals if one.called in names]
    return {one.called: provide.game(case, Request((target,), plan.space), one) for one in removals}


def measures_on(plan: Plan, lacking: Cells, method: str, remover: str) -> list[tuple[Spec, Settings]]:
    """Return the metrics of a game that a method lacks under a remover."""
    return [one for one in plan.metrics_on(Game) if (method, ("scores", one[0].name, remover)) in lacking]


def ask_at_once(
    maps: Sequence[tuple[str, Explanation]], games: dict[Target, dict[str, Game]], plan: Plan, lacking: Cells
) -> None:
    """Find out what metrics will ask of each game, and ask it in one go: large batches run faster.

    Metrics are tried on a game that writes down what it is asked. What a metric would ask only after some answer is
    asked when it is measured; one that searches would ask for what nobody needs.

    Args:
        maps: Explanations of one target each, and what tables call the method that a metric of them stands for.
        games: The games of each target.
        plan: What is asked.
        lacking: The cells that have to be filled.
    """
    for target, own in games.items():
        for remover, game in own.items():
            paper, asked = _paper(game.n_features)
            for method, explanation in maps:
                if target in explanation.targets:
                    for spec, settings in measures_on(plan, lacking, method, remover):
                        if not spec.facts["searches"]:
                            spec.function(explanation, paper, **settings)
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
