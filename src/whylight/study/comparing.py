"""Two methods, or one method on two models, text by text: `wl.compare` and `whylight compare`.

Differences are paired over the texts that both have, metric by metric (`run/compare.py` says when one is clear). Beside
them stands how far the explanations of the two agree.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from whylight.core import showing
from whylight.core.errors import InputError
from whylight.core.inputs import INPUTS, Noun
from whylight.explaining.variants import table_name
from whylight.run.agreement import agreement_of, mean_agreement
from whylight.run.compare import Comparisons, compare_rows, select
from whylight.run.evaluation import Evaluation, open_run
from whylight.run.summary import Cell, column_names, measure_of
from whylight.store.tables import RANDOM
from whylight.study.alike import Side, differences, in_words, other_marks


@dataclass(frozen=True, slots=True, eq=False)
class PairedResult:
    """How two methods or models differ.

    Attributes:
        first: What tables call the one.
        second: What they call the other.
        comparisons: First minus second, metric by metric.
        alike: How far the explanations of the two agree, by measure.
        noun: What the inputs are called.
        left_out: Sentences on metrics that the two runs measured in different ways.
    """

    first: str
    second: str
    comparisons: Comparisons
    alike: Mapping[str, Cell]
    noun: Noun = INPUTS
    left_out: tuple[str, ...] = ()

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
        other: A second run that the other is taken from, e.g. of another model; of the same inputs. A
            metric that the two measured in different ways is left out, and said so.
        seed: Of resampling.

    Example:
        >>> import whylight as wl
        >>> wl.compare("runs/reviews", "attingrad", against="lime")  # doctest: +SKIP
    """
    second = against or (method if other is not None else RANDOM)
    first = _scored(run)
    left, right = _side(first, method), _side(first if other is None else _scored(other), second)
    left, said = (left, ()) if other is None else _alike(left, right, f"{_named(run)} and {_named(other)}")
    return PairedResult(
        left.method,
        right.method,
        compare_rows(left.scores, right.scores, seed=seed),
        mean_agreement(agreement_of(left.run.explanations, right.run.explanations, left.method, right.method)),
        left.run.noun,
        said,
    )


def _side(run: Evaluation, method: str) -> Side:
    name = _stored_name(run, method)
    return Side(run, name, select(run.scores, name))


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


def _alike(left: Side, right: Side, both: str) -> tuple[Side, tuple[str, ...]]:
    """Keep of one side what both measured in the same way, and say what is left out."""
    found = differences(left, right, marked=other_marks(left.run, right.run, both))
    names = column_names(map(measure_of, left.scores))
    reasons: dict[str, list[str]] = {}
    for measure, own in found.items():
        reasons.setdefault(in_words(own), []).append(names[measure])
    kept = [row for row in left.scores if measure_of(row) not in found]
    theirs = {measure_of(row) for row in right.scores}
    how = [f"{reason} for {', '.join(own)}" for reason, own in reasons.items()]
    if found and not any(measure_of(row) in theirs for row in kept):
        raise InputError(
            f"{both} have measured no metric in the same way: they differ in {' and in '.join(how)}; compare runs that "
            "measured alike."
        )
    return replace(left, scores=kept), tuple(f"Left out, since the runs differ: in {one}." for one in how)


def _named(run: object) -> str:
    return f"'{run}'" if isinstance(run, str | Path) else "the evaluation"


def _stored_name(run: Evaluation, name: str) -> str:
    """Return what a run calls a method; an alias stands for its full name."""
    return name if any(row["method"] == name for row in run.scores) else table_name(name)
