"""Measuring the explanations of one record: a value per metric and remover, and curves, of whatever lacks one."""

import json
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from whylight.core.explanation import Explanation
from whylight.core.inputs import Settings
from whylight.core.labels import Target
from whylight.core.rationale import Rationale
from whylight.metrics._curves import CURVE_SHARES, perturbation_curves
from whylight.run.bench import Bench, Task
from whylight.run.control import best_value, candidates, controlled
from whylight.run.corpus import needs_boundary, scaling_of
from whylight.run.games import ask_at_once, asked_case, games_of, measures_on
from whylight.run.plan import Plan
from whylight.store.columns import Cells
from whylight.store.explanations import row_of
from whylight.store.tables import HUMAN, Row
from whylight.views.game import Game


@dataclass(frozen=True, slots=True)
class Done:
    """What one record gave: rows, and how many inputs the model was given for it; or why it failed."""

    explanations: list[Row]
    scores: list[Row]
    curves: list[Row]
    rows_run: int
    reason: str | None = None


def measure(task: Task, bench: Bench, ones: Sequence[Explanation], plan: Plan, run: str) -> Done:
    """Measure explanations of a record, of one target each, as far as they lack values."""
    asked, lacking = asked_case(bench.case, plan), task.lacking
    games = {target: games_of(asked, plan, target, lacking) for target in bench.measured}
    maps = _maps_of(ones, games, plan, lacking)
    named = [(one.provenance.method, one) for one in ones]
    named += [(_controlled_name(plan, ones[number]), one) for number, own in maps.items() for one in own]
    ask_at_once(named, games, plan, lacking)
    explanations, scores, curves = [], [], []
    for number, one in enumerate(ones):
        (target,) = one.targets
        about: Row = {"run": run, "example_id": task.record.id, "target": target.index, "label": target.label}
        about["correct"] = bench.correct[target]
        explanations += [{**about, **row_of(one)}] if task.lacks(one.provenance.method) else []
        scores += [{**about, **row} for row in _measured(one, bench, games, plan, lacking)]
        curves += [{**about, **row} for row in _curves(one, games.get(target, {}), plan, lacking)]
        if plan.control is not None and number in maps:
            stand_in = controlled(one, plan.control)
            explanations += [{**about, **row_of(stand_in)}] if task.lacks(stand_in.provenance.method) else []
            found = _best(stand_in.provenance.method, maps[number], games[target], plan, lacking)
            scores += [{**about, **row} for row in found]
    rows_run = sum(case.cache.rows_run for case in dict.fromkeys((bench.case, asked)))
    return Done(explanations, scores, curves, rows_run)


def _controlled_name(plan: Plan, one: Explanation) -> str:
    return one.provenance.method if plan.control is None else plan.control.name(one.provenance.method)


def _maps_of(
    ones: Sequence[Explanation], measured: Container[Target], plan: Plan, lacking: Cells
) -> dict[int, list[Explanation]]:
    """Return the maps that each explanation may choose from under a control that lacks something, by its number."""
    if plan.control is None:
        return {}
    wanted = {method for method, _ in lacking}
    chosen = [
        (number, one)
        for number, one in enumerate(ones)
        if one.provenance.method != HUMAN
        and one.targets[0] in measured
        and plan.control.name(one.provenance.method) in wanted
    ]
    return {number: candidates(one, plan.control) for number, one in chosen}


def _best(
    method: str, maps: Sequence[Explanation], games: dict[str, Game], plan: Plan, lacking: Cells
) -> Iterator[Row]:
    """Measure the best of some maps by every metric that its control lacks."""
    for remover, game in games.items():
        for spec, settings in measures_on(plan, lacking, method, remover):
            value = best_value(maps, game, spec, settings)
            yield _score_row(spec.name, settings, value, method, remover=remover, space=plan.space)


def _measured(
    one: Explanation, bench: Bench, games: dict[Target, dict[str, Game]], plan: Plan, lacking: Cells
) -> Iterator[Row]:
    """Measure one explanation of one target by every metric that applies to it and has no value yet."""
    (target,), name = one.targets, one.provenance.method
    for remover, game in games.get(target, {}).items():
        for spec, settings in measures_on(plan, lacking, name, remover):
            value = float(spec.function(one, game, **settings)[0])
            yield _score_row(spec.name, settings, value, name, remover=remover, space=plan.space)
    evidence = [(spec, own, (bench.gold[target],)) for spec, own in plan.metrics_on(Rationale) if target in bench.gold]
    alone = [(spec, own, ()) for spec, own in plan.metrics_on(None) if target in games]
    for spec, settings, given in (*evidence, *alone):
        if (name, ("scores", spec.name, None)) in lacking:
            own = _with_boundary(settings, plan, name)
            yield _score_row(spec.name, own, float(spec.function(one, *given, **own)[0]), name)


def _curves(one: Explanation, games: dict[str, Game], plan: Plan, lacking: Cells) -> Iterator[Row]:
    """Return the score along the ranking under each remover, for the points that AOPC asks for anyway."""
    name = one.provenance.method
    for remover, game in games.items():
        if (name, ("curves", None, remover)) in lacking:
            without_top, top_alone = perturbation_curves(one, game)
            yield {
                "method": name,
                "remover": remover,
                "score_space": plan.space,
                "shares": list(CURVE_SHARES),
                "without_top": without_top[0].tolist(),
                "top_alone": top_alone[0].tolist(),
            }


def _with_boundary(settings: Settings, plan: Plan, method: str) -> Settings:
    if not needs_boundary(settings):
        return settings
    return {**settings, "boundary": plan.boundaries.get((method, scaling_of(settings)), 0.0)}


def _score_row(
    metric: str, settings: Settings, value: float, method: str, *, remover: str | None = None, space: str | None = None
) -> Row:
    own = json.dumps(settings, sort_keys=True)
    return {
        "method": method,
        "metric": metric,
        "settings": own,
        "remover": remover,
        "score_space": space,
        "value": value,
    }
