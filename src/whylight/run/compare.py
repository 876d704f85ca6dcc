"""Comparing two methods text by text: a difference of means can deceive where a paired one does not.

One rule says everywhere (`whylight compare`, `recommend`, the report) who is better: on at least `FEWEST_TEXTS` texts,
the bootstrap interval of the paired difference leaves out 0 and the permutation test gives p < `CLEAR`. Where it does
not hold in either direction, nobody can tell.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from whylight.core import showing
from whylight.core.arrays import Floats
from whylight.core.errors import InputError, unknown
from whylight.core.registry import METRICS
from whylight.core.series import Series
from whylight.run.summary import Cell, Measure, draw_sizes, interval, measure_of
from whylight.store.tables import Row

FLIPS = 10_000
"""Random sign flips of the permutation test; of hundreds of tests together there are more."""
CLEAR = 0.05
"""A difference is clear where the permutation test is below this and the bootstrap interval leaves out 0."""
FEWEST_TEXTS = 10
"""Texts below which nothing is clear: an interval that is bootstrapped over fewer says little."""
Standing = Literal["better", "worse", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric: first minus second over the texts that both have.

    Attributes:
        metric: Name of the metric.
        remover: What "removed" meant to it, if anything.
        higher_is_better: Its direction.
        difference: Mean difference with its 95 % bootstrap interval.
        p_value: Of a paired permutation test: how often flipping signs gives a difference as large.
        wins: Share of texts on which the first is better; ties count half.
    """

    metric: str
    remover: str | None
    higher_is_better: bool
    difference: Cell
    p_value: float
    wins: float

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save

    @property
    def standing(self) -> Standing:
        """How the first stands to the second by the one rule."""
        sign = clear_sign(self.difference, self.p_value)
        if not sign:
            return "cannot tell"
        return "better" if (sign > 0) == self.higher_is_better else "worse"


class Comparisons(Series[Comparison]):
    """Several metrics, as a list."""

    __slots__ = ()


def clear_sign(difference: Cell, p_value: float) -> int:
    """Return 1 for a difference that is clearly above 0, -1 for one clearly below, 0 where nobody can tell."""
    if difference.texts < FEWEST_TEXTS or p_value >= CLEAR or difference.low <= 0 <= difference.high:
        return 0
    return 1 if difference.low > 0 else -1


def permutation_test(differences: Floats, *, seed: int = 0) -> float:
    """Return how often flipping the signs of paired differences at random gives a sum as large as theirs."""
    return permutation_tests([differences], seed=seed)[0]


def permutation_tests(differences: Sequence[Floats], *, seed: int = 0) -> list[float]:
    """Return the p-value of each of several tests; the smallest can be clear when it is multiplied by their number.

    Tests on as many texts share their random signs.
    """
    flips = max(FLIPS, math.ceil(2 * len(differences) / CLEAR))
    p_values = np.empty(len(differences))
    lengths = np.asarray([len(own) for own in differences])
    for texts in np.unique(lengths).tolist():
        some = np.flatnonzero(lengths == texts)
        own = np.stack([differences[i] for i in some.tolist()], axis=1)  # [texts, tests]
        generator = np.random.default_rng(seed)
        least, larger = np.abs(own.sum(axis=0)) - 1e-12, np.zeros(len(some), dtype=np.int64)
        for flipped, _ in draw_sizes(flips, max(texts, len(some))):
            signs = generator.choice((-1.0, 1.0), size=(flipped, texts))
            larger += (np.abs(signs @ own) >= least).sum(axis=0)
        p_values[some] = (larger + 1) / (flips + 1)
    return [float(one) for one in p_values]


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number: the k-th smallest of m times m - k + 1, and none below that of a smaller one.

    Reference: Holm 1979.
    """
    order = np.argsort(p_values, kind="stable")
    times = np.arange(len(order), 0, -1)
    corrected = np.minimum(1.0, np.maximum.accumulate(times * np.asarray(p_values, dtype=np.float64)[order]))
    return [float(one) for one in corrected[np.argsort(order, kind="stable")]]


def compare_rows(first: Iterable[Row], second: Iterable[Row], *, seed: int = 0) -> Comparisons:
    """Compare the scores of two methods or models, metric by metric.

    Args:
        first: Rows of the table `scores` of the one.
        second: Rows of the other.
        seed: Of resampling.
    """
    left, right = _by_metric(first), _by_metric(second)
    results = Comparisons()
    for name in left:
        shared = sorted(left[name].keys() & right.get(name, {}).keys())
        if shared:
            own = np.asarray([left[name][key] for key in shared])
            results.append(_compared(name, own - np.asarray([right[name][key] for key in shared]), seed=seed))
    if not results:
        raise InputError("the two have no input and metric in common.")
    return results


def select(scores: Iterable[Row], method: str) -> list[Row]:
    """Return the rows of one method."""
    methods: dict[str, None] = {}
    own = []
    for row in scores:
        methods[row["method"]] = None
        if row["method"] == method:
            own.append(row)
    if not own:
        raise unknown("method of this run", method, methods)
    return own


def _by_metric(rows: Iterable[Row]) -> dict[Measure, dict[str, float]]:
    """Return the mean over labels of each metric and text."""
    values: dict[Measure, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["value"] is not None and np.isfinite(row["value"]):
            values[measure_of(row)][row["example_id"]].append(row["value"])
    return {name: {key: float(np.mean(v)) for key, v in own.items()} for name, own in values.items()}


def _compared(measure: Measure, differences: Floats, *, seed: int) -> Comparison:
    metric, remover = measure
    higher = bool(METRICS[metric].facts["higher_is_better"])
    better = differences if higher else -differences
    wins = float((better > 0).mean() + (better == 0).mean() / 2)
    p_value = permutation_test(differences, seed=seed)
    return Comparison(metric, remover, higher, interval(differences, seed=seed), p_value, wins)
