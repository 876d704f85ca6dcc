"""From rows to one honest table: means over texts with bootstrap intervals, and what each method cost."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.registry import METRICS, Spec
from whylight.store.tables import Row

RESAMPLES = 2000
TAILS = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Cell:
    """A mean over texts, its 95 % bootstrap interval, and how many texts it is of."""

    mean: float
    low: float
    high: float
    texts: int


@dataclass(frozen=True, slots=True)
class Line:
    """One method: a cell a metric, and its cost a text."""

    method: str
    cells: dict[str, Cell]
    seconds: float
    forward_passes: float
    backward_passes: float


@dataclass(frozen=True, slots=True)
class Summary:
    """A table of a run.

    Attributes:
        metrics: Names of the columns in the order of the run: metrics, with their remover where there are several.
        higher_is_better: Direction of each.
        lines: One a method, in the order of the run.
    """

    metrics: tuple[str, ...]
    higher_is_better: dict[str, bool]
    lines: tuple[Line, ...]

    def records(self) -> list[Row]:
        """Return one flat record for each method and metric, as a data frame takes them."""
        return [
            {
                "method": line.method,
                "metric": name,
                "mean": cell.mean,
                "low": cell.low,
                "high": cell.high,
                "texts": cell.texts,
                "seconds": line.seconds,
                "forward_passes": line.forward_passes,
                "backward_passes": line.backward_passes,
            }
            for line in self.lines
            for name, cell in line.cells.items()
        ]


def summarise(explanations: Sequence[Row], scores: Sequence[Row], *, seed: int = 0) -> Summary:
    """Average every metric of every method over texts; several labels of a text are averaged first."""
    values: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    names = columns(scores)
    for name, row in zip(names, scores, strict=True):
        if row["value"] is not None and np.isfinite(row["value"]):
            values[row["method"], name][row["example_id"]].append(row["value"])
    metrics = tuple(dict.fromkeys(names))
    lines = []
    for method in dict.fromkeys(row["method"] for row in explanations):
        means = {m: np.asarray([np.mean(v) for v in values[method, m].values()]) for m in metrics}
        cells = {name: interval(own, seed=seed) for name, own in means.items() if len(own)}
        lines.append(Line(method, cells, *cost_of([row for row in explanations if row["method"] == method])))
    return Summary(metrics, {name: bool(metric_of(name).facts["higher_is_better"]) for name in metrics}, tuple(lines))


def columns(scores: Sequence[Row]) -> list[str]:
    """Name the column that each row belongs to: its metric, with its remover where the run has several."""
    several = len({row["remover"] for row in scores if row["remover"] is not None}) > 1
    return [f"{row['metric']} ({row['remover']})" if several and row["remover"] else row["metric"] for row in scores]


def metric_of(column: str) -> Spec:
    """Return the metric of a column."""
    return METRICS[column.split(" ", maxsplit=1)[0]]


def interval(values: Floats, *, seed: int = 0) -> Cell:
    """Return the mean of values and the percentile bootstrap interval over them."""
    drawn = np.random.default_rng(seed).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.percentile(values[drawn].mean(axis=1), TAILS)
    return Cell(float(values.mean()), float(low), float(high), len(values))


def cost_of(rows: Sequence[Row]) -> tuple[float, float, float]:
    """Return seconds, forward and backward passes a text; the labels of a text share one explanation."""
    texts = {row["example_id"]: row for row in rows}.values()
    names = ("seconds", "forward_passes", "backward_passes")
    seconds, forward, backward = (float(np.mean([row[name] for row in texts])) for name in names)
    return seconds, forward, backward
