"""Which method to trust on this model and data, as far as a budget of seconds can tell.

The methods that fit into the budget explain a sample of texts; each is measured by AOPC comprehensiveness and
sufficiency under two removers, because a deletion metric favours the method that removes words the same way (Pham et
al. 2022). Per remover, methods are ordered by their mean rank over the two metrics; methods with the same figures have
the same rank. One is clearly better than another where it is so by both metrics, by the rule of `run/compare.py`; what
that cannot tell apart is said. Below the fewest texts of that rule there is no ranking, but what would make one
possible.

The last sentence is the advice. A method comes into question if, under every remover, it is clearly better than random
scores and the first method is not clearly better than it. Of those the fastest is named.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.stats import rankdata

from whylight.core import showing
from whylight.core.errors import InputError, LimitError, SettingError
from whylight.core.inputs import Noun
from whylight.core.limits import limited
from whylight.core.registry import METHODS, Spec
from whylight.data.dataset import Dataset, Record, require_dataset
from whylight.explaining.bar import progress_bar
from whylight.explaining.case import Case
from whylight.explaining.compatible import compatible
from whylight.explaining.options import Options
from whylight.explaining.receipts import explain_case
from whylight.run.bench import open_bench
from whylight.run.compare import FEWEST_TEXTS, Standing, compare_rows, select
from whylight.run.one import work
from whylight.run.plan import Plan, make_plan
from whylight.run.summary import Line, Summary, summarise
from whylight.store.tables import HUMAN, RANDOM, Row
from whylight.views.classifier import Classifier, require_classifier
from whylight.views.game import Game

MEASURES = ("aopc_comprehensiveness", "aopc_sufficiency")
TRIAL_SHARE = 0.2
"""Share of the budget for finding out what methods cost."""
SAME = 5
"""Decimals up to which two means are the same: what is left is rounding within the model."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What a budget could find out.

    Attributes:
        texts: How many texts were measured.
        summary: The table behind the ranking.
        rankings: For each remover, methods from best to worst; empty where there were too few texts to tell.
        ranks: For each remover, the rank of each method, 1 for the best; methods with the same figures share one.
        left_out: Methods that were too slow for the budget, or not even tried in it.
        findings: What was found, and what could not be told, in sentences; the last one says which method to use.
    """

    texts: int
    summary: Summary
    rankings: dict[str, list[str]]
    left_out: tuple[str, ...]
    findings: tuple[str, ...]
    ranks: dict[str, dict[str, int]] = field(default_factory=dict)

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save


def recommend(
    classifier: Classifier,
    data: Dataset,
    *,
    budget: float,
    seed: int = 0,
    clock: Callable[[], float] = time.monotonic,
) -> Recommendation:
    """Find out which method names the words that matter to this model, in about `budget` seconds.

    Args:
        classifier: What `wl.load` returned.
        data: Texts like those to be explained; labels and rationales are not looked at.
        budget: Seconds.
        seed: Of the order of texts.
        clock: Where the time comes from.

    Example:
        >>> import whylight as wl
        >>> wl.recommend(wl.load(), wl.dataset("reviews.jsonl"), budget=300)  # doctest: +SKIP
    """
    require_classifier(classifier)
    require_dataset(data)
    data = data.without_labels()
    if not budget > 0:  # nan is not, either
        raise SettingError(f"the budget must be above 0 seconds, not {budget:g}.")
    if len(data) < FEWEST_TEXTS:  # no budget would help
        return Recommendation(0, Summary((), {}, ()), {}, (), (_too_few(0, data, budget=budget),))
    removers, started = two_removers(classifier), clock()
    records = [data[int(i)] for i in np.random.default_rng(seed).permutation(len(data))]
    methods, left_out = _affordable(classifier, data, records[0], budget=budget, clock=clock)
    plan = _trial_plan(classifier, data, methods, removers)
    explanations: list[Row] = []
    scores: list[Row] = []
    texts, begun = 0, clock()
    for record in records:
        mean = (clock() - begun) / max(1, texts)
        if texts and clock() - started + mean > budget:
            break
        done = work(classifier, record, plan, run="recommend")
        explanations += done.explanations
        scores += done.scores
        texts += 1
    summary = summarise(explanations, scores)
    if texts < FEWEST_TEXTS:
        return Recommendation(texts, summary, {}, left_out, (_too_few(texts, data, budget=budget),))
    ranks = {remover: _ranks(summary, remover, several=len(removers) > 1) for remover in removers}
    rankings = {remover: list(own) for remover, own in ranks.items()}
    found = _findings(scores, rankings, texts=texts, noun=data.noun)
    said = (*found, _advice(scores, rankings, summary.lines, texts=texts, noun=data.noun))
    return Recommendation(texts, summary, rankings, left_out, said, ranks)


def two_removers(classifier: Classifier) -> list[str]:
    """Return two removers that differ as much as they can: of texts, one that overwrites and one that shortens."""
    preferred: list[str] = ["mask", "delete", "unk", "zero", "pad", "blur", "black"]
    known = [name for name in preferred if name in classifier.removers]
    return list(dict.fromkeys([*known, *classifier.removers]))[:2]


def _trial_plan(classifier: Classifier, data: Dataset, methods: Sequence[str], removers: Sequence[str]) -> Plan:
    return make_plan(
        classifier,
        data,
        methods=methods,
        metrics=MEASURES,
        options=Options(),
        removers=removers,
        settings={},
        tuned=False,
    )


def _affordable(
    classifier: Classifier, data: Dataset, record: Record, *, budget: float, clock: Callable[[], float]
) -> tuple[list[str], tuple[str, ...]]:
    """Time methods on one text, and what measuring one takes; keep the cheapest that leave time for enough texts."""
    works = [name for name, reason in compatible(classifier).items() if reason is None and name != RANDOM]
    works.sort(key=lambda name: Game in METHODS[name].consumes)  # few passes first, so that a small budget tries those
    plan = _trial_plan(classifier, data, works, [])
    bench = open_bench(classifier, record, plan)
    options = replace(plan.options, target=[bench.measured[0].index])
    explain_case(bench.case, METHODS[works[0]], METHODS[works[0]].complete_settings({}), options)  # warms the model up
    seconds: dict[str, float] = {}
    started = clock()
    random_alone = _trial_plan(classifier, data, [], two_removers(classifier))
    work(classifier, record, random_alone, run="recommend")
    measuring = clock() - started
    for name in works:
        left = TRIAL_SHARE * budget - (clock() - started)
        if seconds and left <= 0:
            break
        spent = _trial_seconds(bench.case, METHODS[name], options, budget=left if seconds else budget)
        seconds |= {} if spent is None else {name: spent}
    kept: list[str] = []
    if not seconds:
        raise InputError(f"{budget:g} seconds are too few for any method on one {data.noun.one}; try more.")
    left = (1 - TRIAL_SHARE) * budget / FEWEST_TEXTS - measuring  # for one text, once random scores are measured
    for name in sorted(seconds, key=seconds.__getitem__):
        left -= seconds[name] + measuring
        if left < 0:
            break
        kept.append(name)
    if not kept:
        cheapest = FEWEST_TEXTS * (min(seconds.values()) + 2 * measuring) / (1 - TRIAL_SHARE)
        enough = math.ceil(cheapest)
        raise InputError(
            f"{budget:g} seconds are too few for any method on {data.noun.count(FEWEST_TEXTS)}; try {enough}."
        )
    return kept, tuple(name for name in works if name not in kept)


def _trial_seconds(case: Case, spec: Spec, options: Options, *, budget: float) -> float | None:
    """Return the seconds that a method takes on a text; None if that is more than there are, which its start tells."""
    try:
        with limited(budget=budget), progress_bar(1, shown=False, plan=[(spec.name, 1)]) as step:
            step(spec.name)
            return explain_case(case, spec, spec.complete_settings({}), options).provenance.seconds
    except LimitError:
        return None


def _ranks(summary: Summary, remover: str, *, several: bool) -> dict[str, int]:
    """Return the place of each method by its mean rank over the metrics under one remover, the best first."""
    names = [line.method for line in summary.lines if line.method != HUMAN]
    ranks = np.zeros(len(names))
    for metric in MEASURES:
        column = f"{metric} ({remover})" if several else metric
        means = np.asarray([line.cells[column].mean for line in summary.lines if line.method in names]).round(SAME)
        ranks += rankdata(-means if summary.higher_is_better[column] else means)
    places = rankdata(ranks, method="min")
    return {names[i]: int(places[i]) for i in ranks.argsort(kind="stable")}


def _too_few(texts: int, data: Dataset, *, budget: float) -> str:
    """Say that there is no answer yet, and what would give one."""
    if len(data) < FEWEST_TEXTS:
        return (
            f"cannot tell: '{data.name}' ({data.split}) has {data.noun.count(len(data))}, and a ranking needs at least "
            f"{FEWEST_TEXTS}; give more {data.noun.many}."
        )
    enough = math.ceil(budget * FEWEST_TEXTS / texts)
    return (
        f"cannot tell: {budget:g} seconds were enough for {data.noun.count(texts)}, and a ranking needs at least "
        f"{FEWEST_TEXTS}; give more time, about --budget {enough}."
    )


def _findings(scores: Sequence[Row], rankings: dict[str, list[str]], *, texts: int, noun: Noun) -> tuple[str, ...]:
    """Put the ranking, its flips and its limits into words."""
    found, on = [], noun.count(texts)
    poor = {remover: _not_better_than_random(scores, remover, ranking) for remover, ranking in rankings.items()}
    hopeless = [remover for remover, ranking in rankings.items() if set(ranking) <= {*poor[remover], RANDOM}]
    if hopeless:
        found.append(
            f"cannot tell under {' or under '.join(hopeless)}: no method is clearly better than random on "
            f"{on}; more {noun.many}, and the budget for them, would decide it."
        )
    else:
        found.append(_first_places(rankings))
    for remover, ranking in rankings.items():
        alike = [name for name in ranking[1:] if name != RANDOM and not _better(scores, remover, ranking[0], name)]
        if alike:
            found.append(f"under {remover}, {on} cannot tell {ranking[0]} from {', '.join(alike)}.")
        if poor[remover]:
            found.append(f"under {remover}, not clearly better than random: {', '.join(poor[remover].values())}.")
    return tuple(found)


def _advice(
    scores: Sequence[Row], rankings: dict[str, list[str]], lines: Sequence[Line], *, texts: int, noun: Noun
) -> str:
    """Say which method to use, and why; or that nobody can tell, and why."""
    good = [
        {name for name in ranking if name not in {RANDOM, *_not_better_than_random(scores, remover, ranking)}}
        for remover, ranking in rankings.items()
    ]
    under, on = " and under ".join(rankings), f"on {noun.count(texts)}"
    if not set.intersection(*good):
        return f"cannot tell which to use: {on}, no method is clearly better than random under {under}."
    best = [
        {name for name in own if name == ranking[0] or not _better(scores, remover, ranking[0], name)}
        for own, (remover, ranking) in zip(good, rankings.items(), strict=True)
    ]
    chosen = set.intersection(*best)
    if not chosen:
        return f"cannot tell which to use: {on}, what is first under one remover is clearly worse under another."
    seconds = {line.method: line.seconds for line in lines if line.method in chosen}
    fastest = min(seconds, key=seconds.__getitem__)
    alike = f"the fastest of {len(chosen)} that nobody can tell from the first" if len(chosen) > 1 else "the best"
    return (
        f"use {fastest}, because under {under} it is clearly better than random, and {alike}, {on} "
        f"({seconds[fastest]:.2g} s per {noun.one})."
    )


def _first_places(rankings: dict[str, list[str]]) -> str:
    firsts = {remover: ranking[0] for remover, ranking in rankings.items()}
    if len(set(firsts.values())) == 1:
        return f"{next(iter(firsts.values()))} is first under {' and under '.join(firsts)}."
    each = ", ".join(f"{method} under {remover}" for remover, method in firsts.items())
    return f"the ranking flips with the remover ({each}): trust neither without a reason for one remover."


def _not_better_than_random(scores: Sequence[Row], remover: str, ranking: Sequence[str]) -> dict[str, str]:
    """Return the methods that are not clearly better than random by both metrics, with what stands against them."""
    poor = {}
    for name in ranking:
        stands = {} if name == RANDOM else _standings(scores, remover, name, RANDOM)
        worse = [metric for metric, one in stands.items() if one == "worse"]
        if any(one != "better" for one in stands.values()):
            poor[name] = f"{name} (worse by {' and '.join(worse)})" if worse else name
    return poor


def _better(scores: Sequence[Row], remover: str, first: str, second: str) -> bool:
    """Say whether the first is clearly better than the second by both metrics."""
    return all(one == "better" for one in _standings(scores, remover, first, second).values())


def _standings(scores: Sequence[Row], remover: str, first: str, second: str) -> dict[str, Standing]:
    own = [row for row in scores if row["remover"] == remover]
    return {one.metric: one.standing for one in compare_rows(select(own, first), select(own, second))}
