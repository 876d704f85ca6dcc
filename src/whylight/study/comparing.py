"""Two methods, or one method on two models, text by text: `wl.compare` and `whylight compare`.

Differences are paired over the texts that both have, metric by metric (`run/compare.py` says when one is clear). Beside
them stands how far the explanations of the two agree.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from whylight.core import showing
from whylight.core.errors import InputError
from whylight.core.inputs import INPUTS, Noun
from whylight.explaining.variants import table_name
from whylight.run.agreement import agreement_of, mean_agreement
from whylight.run.compare import Comparisons, compare_rows, select
from whylight.run.evaluation import Evaluation, open_run
from whylight.run.summary import Cell, Measure, measure_of
from whylight.store.tables import RANDOM, Row


@dataclass(frozen=True, slots=True, eq=False)
class PairedResult:
    """How two methods or models differ.

    Attributes:
        first: What tables call the one.
        second: What they call the other.
        comparisons: First minus second, metric by metric.
        alike: How far the explanations of the two agree, by measure.
        noun: What the inputs are called.
    """

    first: str
    second: str
    comparisons: Comparisons
    alike: Mapping[str, Cell]
    noun: Noun = INPUTS

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save


def compare(
    run: Evaluation | Path | str,
    method: str,
    *,
    against: str | None = None,
    other: Evaluation | Path | str | None = None,
    seed: int = 0,
) -> PairedResult:
    """Compare two methods of a run, or one method in two runs, by a paired test.

    Args:
        run: What `wl.evaluate` returned, or the folder of a run.
        method: The one method.
        against: The other; by default `random`, or the same one of `other`.
        other: A second run that the other is taken from, e.g. of another model; of the same inputs, measured alike.
        seed: Of resampling.

    Example:
        >>> import whylight as wl
        >>> wl.compare("runs/reviews", "attingrad", against="lime")  # doctest: +SKIP
    """
    second = against or (method if other is not None else RANDOM)
    left = _scored(run)
    right = left if other is None else _scored(other)
    if left.target != right.target:
        both = f"{_named(run)} measured the {left.target} labels and {_named(other)} the {right.target} ones"
        raise InputError(f"{both}; compare runs of the same labels.")
    if other is not None:
        _check_same_inputs(left, right, f"{_named(run)} and {_named(other)}")
        _check_same_measures(left, right, f"{_named(run)} and {_named(other)}")
    names = _stored_name(left, method), _stored_name(right, second)
    return PairedResult(
        *names,
        compare_rows(select(left.scores, names[0]), select(right.scores, names[1]), seed=seed),
        mean_agreement(agreement_of(left.explanations, right.explanations, *names)),
        left.noun,
    )


def _scored(run: Evaluation | Path | str) -> Evaluation:
    if not isinstance(run, Evaluation | Path | str):
        raise InputError(
            f"what is compared is an evaluation or the folder of a run, not {type(run).__name__}; wl.plot.compare "
            "takes explanations."
        )
    found = run if isinstance(run, Evaluation) else open_run(run)
    if not found.scores:
        raise InputError(f"{_named(run)} holds no run with scores of single inputs to compare.")
    return found


def _check_same_inputs(left: Evaluation, right: Evaluation, both: str) -> None:
    """Refuse runs in which one id stands for two inputs: ids are often numbers of lines, which any file has."""
    theirs = {row["example_id"]: _input(row) for row in right.explanations}
    strange = next((row for row in left.explanations if theirs.get(row["example_id"], own := _input(row)) != own), None)
    if strange is not None:
        raise InputError(
            f"{both} hold other {left.noun.many}: '{strange['example_id']}' is not the same in both; compare runs of "
            "the same data."
        )


def _check_same_measures(left: Evaluation, right: Evaluation, both: str) -> None:
    """Refuse runs that measured one metric in two ways."""
    theirs = _measured(right)
    for (metric, remover), ways in _measured(left).items():
        if theirs.get((metric, remover), ways) != ways:
            raise InputError(
                f"{both} measured {metric} with other settings, or of another score; compare runs that measured alike."
            )


def _measured(run: Evaluation) -> dict[Measure, set[tuple[str, str]]]:
    """Return the settings and scores by which each metric was measured; seeds may differ."""
    found: dict[Measure, set[tuple[str, str]]] = {}
    for row in run.scores:
        found.setdefault(measure_of(row), set()).add((row["settings"] or "{}", str(row["score_space"])))
    return {measure: {(_without_seed(own), space) for own, space in ways} for measure, ways in found.items()}


def _without_seed(settings: str) -> str:
    return json.dumps({name: one for name, one in json.loads(settings).items() if name != "seed"}, sort_keys=True)


def _input(row: Row) -> tuple[object, ...]:
    """Return what a row explains."""
    return row["kind"], row["text"], row["pair"], row["input"]


def _named(run: object) -> str:
    return f"'{run}'" if isinstance(run, str | Path) else "the evaluation"


def _stored_name(run: Evaluation, name: str) -> str:
    """Return what a run calls a method; an alias stands for its full name."""
    return name if any(row["method"] == name for row in run.scores) else table_name(name)
