"""From rows to one honest table: means over texts with bootstrap intervals, and what each method cost."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from whylight.core import showing
from whylight.core.arrays import Floats
from whylight.core.inputs import INPUTS, Noun, common_noun
from whylight.core.registry import METRICS, Spec
from whylight.store.tables import Row

RESAMPLES = 2000
TAILS = (2.5, 97.5)
BLOCK = 2**22
"""Numbers that are drawn at a time."""
Cost = tuple[float, float, float]
"""Seconds, forward passes and backward passes."""
Measure = tuple[str, str | None]
"""A metric and its remover."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A mean over texts, its 95 % bootstrap interval, and how many texts it is of."""

    mean: float
    low: float
    high: float
    texts: int


@dataclass(frozen=True, slots=True)
class Line:
    """One method: a cell per metric, and its cost per text."""

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
        lines: One per method, in the order of the run.
        noun: What the inputs are called.
    """

    metrics: tuple[str, ...]
    higher_is_better: dict[str, bool]
    lines: tuple[Line, ...]
    noun: Noun = field(default=INPUTS, compare=False)

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save

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


def summarise(explanations: Iterable[Row], scores: Iterable[Row], *, seed: int = 0) -> Summary:
    """Average every metric of every method over texts; several labels of a text are averaged first.

    Each table is gone through once, and only its numbers are kept.
    """
    values: dict[tuple[str, Measure], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    measures: dict[Measure, None] = {}
    for row in scores:
        measures[measure := measure_of(row)] = None
        if row["value"] is not None and np.isfinite(row["value"]):
            values[row["method"], measure][row["example_id"]].append(row["value"])
    names = column_names(measures)
    by_column: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (method, measure), own in values.items():
        for text, found in own.items():
            by_column[method, names[measure]][text] += found
    metrics = tuple(dict.fromkeys(names.values()))
    lines, kinds = [], set[str]()
    for method, cost in costs(_noted(explanations, kinds)).items():
        means = {name: np.asarray([np.mean(v) for v in by_column[method, name].values()]) for name in metrics}
        cells = {name: interval(own, seed=seed) for name, own in means.items() if len(own)}
        lines.append(Line(method, cells, *cost))
    higher = {name: bool(metric_of(name).facts["higher_is_better"]) for name in metrics}
    return Summary(metrics, higher, tuple(lines), common_noun(kinds))


def _noted(explanations: Iterable[Row], kinds: set[str]) -> Iterator[Row]:
    """Note of what kinds inputs are, while rows go by."""
    for row in explanations:
        kinds.add(row.get("kind", ""))
        yield row


def measure_of(row: Row) -> Measure:
    """Return what a row of scores is measured by."""
    return row["metric"], row.get("remover")


def column_names(measures: Iterable[Measure]) -> dict[Measure, str]:
    """Name the column of each measure: its metric, with its remover where the run has several."""
    known = list(measures)
    several = len({remover for _, remover in known if remover is not None}) > 1
    return {(metric, own): f"{metric} ({own})" if several and own else metric for metric, own in known}


def metric_of(column: str) -> Spec:
    """Return the metric of a column."""
    return METRICS[column.split(" ", maxsplit=1)[0]]


def interval(values: Floats, *, seed: int = 0) -> Cell:
    """Return the mean of values and the percentile bootstrap interval over them."""
    generator = np.random.default_rng(seed)
    means = [
        values[generator.integers(len(values), size=size)].mean(axis=1) for size in draw_sizes(RESAMPLES, len(values))
    ]
    low, high = np.percentile(np.concatenate(means), TAILS)
    return Cell(float(values.mean()), float(low), float(high), len(values))


def draw_sizes(resamples: int, texts: int) -> list[tuple[int, int]]:
    """Return sizes of draws that are made one after the other, as all at once would be, but in bounded memory."""
    most = max(1, BLOCK // max(1, texts))
    return [(min(most, resamples - start), texts) for start in range(0, resamples, most)]


def costs(explanations: Iterable[Row]) -> dict[str, Cost]:
    """Return what a text costs each method, in the order of the rows; the labels of a text share one explanation."""
    texts: dict[str, dict[str, Cost]] = defaultdict(dict)
    for row in explanations:
        texts[row["method"]][row["example_id"]] = cost_of(row)
    return {method: mean_cost(own.values()) for method, own in texts.items()}


def cost_of(row: Row) -> Cost:
    """Return what the explanation of a row cost."""
    return row["seconds"], row["forward_passes"], row["backward_passes"]


def mean_cost(each: Iterable[Cost]) -> Cost:
    """Average what texts cost."""
    seconds, forward, backward = np.asarray(list(each), dtype=np.float64).mean(axis=0).tolist()
    return seconds, forward, backward
