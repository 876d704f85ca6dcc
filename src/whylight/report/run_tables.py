"""The tables of a run as a report shows them: methods x metrics with clear winners, and who agrees with whom."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from whylight.core.arrays import Floats
from whylight.report.colours import STEPS
from whylight.report.run_rows import BASELINES, Run, text_values
from whylight.run.compare import Comparison, compare_rows, select
from whylight.run.summary import Summary, summarise
from whylight.store.tables import RANDOM, Row

MethodValues = dict[str, dict[str, float]]
"""Of one metric, by method and text."""
STANDS = {"worse": "worse than random", "cannot tell": "cannot tell from random"}
"""What is said of a method that is not clearly better than random scores."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who is best by one metric.

    Attributes:
        metric: Name of the metric.
        best: Method with the best mean, baselines aside; None where there is none.
        second: The next one, or None.
        difference: Best minus second, text by text; None where there is nothing to compare.
    """

    metric: str
    best: str | None
    second: str | None
    difference: Comparison | None

    @property
    def clear(self) -> bool:
        """Whether the best is clearly better than the second."""
        return self.difference is not None and self.difference.standing == "better"


@dataclass(frozen=True, slots=True)
class Table:
    """Methods x metrics over some of the texts.

    Attributes:
        summary: Means, intervals and cost.
        verdicts: Who is best, one per metric.
        chance: How a method stands to random scores by a metric, where it is not clearly better.
        texts: Number of texts.
    """

    summary: Summary
    verdicts: tuple[Verdict, ...]
    chance: dict[tuple[str, str], str]
    texts: int

    def won(self, method: str, metric: str) -> bool:
        """Say whether a method is the clear winner of a metric."""
        return any(one.clear and (one.best, one.metric) == (method, metric) for one in self.verdicts)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Mean Kendall tau of two methods, the shade step to draw it in, and how many explanations it is of."""

    tau: float
    step: int
    pairs: int


def table(explanations: Iterable[Row], scores: Sequence[Row]) -> Table:
    """Summarise rows and find the winner of each metric."""
    texts: set[str] = set()
    summary = summarise(_noting(explanations, texts), scores)
    verdicts, chance = [], {}
    for metric in summary.metrics:
        rows = [row for row in scores if row["column"] == metric]
        values = text_values(rows)
        verdicts.append(_verdict(summary, metric, rows, values))
        chance.update({(method, metric): how for method, how in _near_chance(rows, values).items()})
    return Table(summary, tuple(verdicts), chance, len(texts))


def split_tables(run: Run) -> list[tuple[str, Table]]:
    """Return one table for right and one for wrong predictions; none unless there are both."""
    made = []
    for name, kind in (("Correct predictions", True), ("Wrong predictions", False)):
        scores = [row for row in run.scores if row["correct"] is kind]
        own = table((row for row in run.explanations if row["correct"] is kind), scores)
        if not own.texts or not scores:
            return []
        made.append((name, own))
    return made


def _noting(rows: Iterable[Row], texts: set[str]) -> Iterator[Row]:
    """Pass rows on, and note whose they are."""
    for row in rows:
        texts.add(row["example_id"])
        yield row


def agreement(run: Run) -> list[list[Agreement | None]]:
    """Return the mean Kendall tau-b of every two methods over texts and labels; None where none is defined."""
    places = {method: number for number, method in enumerate(run.methods)}
    groups: dict[tuple[str, int], dict[int, Floats]] = defaultdict(dict)
    for row in run.explanations:
        groups[row["example_id"], row["target"]][places[row["method"]]] = np.asarray(row["scores"], dtype=np.float64)
    total, count = np.zeros((len(places), len(places))), np.zeros((len(places), len(places)), dtype=np.int64)
    for group in groups.values():
        where = np.asarray(list(group))
        taus = kendall_taus(np.stack(list(group.values())))
        defined = np.isfinite(taus)
        total[np.ix_(where, where)] += np.where(defined, taus, 0.0)
        count[np.ix_(where, where)] += defined
    return [[_agreement(float(total[i, j]), int(count[i, j])) for j in range(len(places))] for i in range(len(places))]


def kendall_taus(scores: Floats) -> Floats:
    """Return tau-b of every two rows of `[rows, features]`; nan where one is constant.

    Tau-b is the cosine between the signs of all differences of two features, so that one product serves all rows.
    """
    products = np.zeros((len(scores), len(scores)))
    for feature in range(scores.shape[1]):
        signs = np.sign(scores - scores[:, feature, None])
        products += signs @ signs.T
    lengths = np.sqrt(np.diag(products))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(products / (lengths[:, None] * lengths[None, :]))


def _agreement(total: float, count: int) -> Agreement | None:
    if not count:
        return None
    tau = total / count
    return Agreement(tau, int(np.rint(tau * STEPS)), count)


def _near_chance(rows: Sequence[Row], values: MethodValues) -> dict[str, str]:
    """Say of each method that is not clearly better than random scores, text by text, how it stands to them."""
    chance, stands = values.get(RANDOM, {}), {}
    for method, own in values.items():
        if method != RANDOM and own.keys() & chance.keys():
            (found,) = compare_rows(select(rows, method), select(rows, RANDOM))
            if found.standing != "better":
                stands[method] = STANDS[found.standing]
    return stands


def _verdict(summary: Summary, metric: str, rows: Sequence[Row], values: MethodValues) -> Verdict:
    higher = summary.higher_is_better[metric]
    means = {line.method: line.cells[metric].mean for line in summary.lines if metric in line.cells}
    ranked = sorted((m for m in means if m not in BASELINES), key=lambda m: means[m], reverse=higher)
    best, second = [*ranked, None, None][:2]
    if best is None or second is None or not values[best].keys() & values[second].keys():
        return Verdict(metric, best, second, None)
    (found,) = compare_rows(select(rows, best), select(rows, second))
    return Verdict(metric, best, second, found)
