"""Curves over every distinct score as the threshold: features that reach it are chosen, tied ones together."""

from dataclasses import dataclass

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """What is chosen at each distinct score, highest first.

    Attributes:
        thresholds: The distinct scores.
        hits: Gold features that reach each, cumulative.
        chosen: Features that reach each, cumulative.
        n_gold: All gold features.
    """

    thresholds: Floats
    hits: Ints
    chosen: Ints
    n_gold: int

    @property
    def precision(self) -> Floats:
        """Share of the chosen features that is gold."""
        return np.asarray(self.hits / self.chosen)

    @property
    def recall(self) -> Floats:
        """Share of the gold features that is chosen."""
        return np.asarray(self.hits / self.n_gold)

    @property
    def f1(self) -> Floats:
        """Harmonic mean of precision and recall."""
        return np.asarray(2 * self.hits / (self.chosen + self.n_gold))


def sweep(scores: Floats, gold: Bools) -> Sweep:
    """Lower the threshold over all distinct scores, in n log n steps."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    last = np.flatnonzero(np.diff(ordered, append=-np.inf))  # the last feature of each group of equal scores
    hits = np.cumsum(gold[order], dtype=np.int64)
    return Sweep(ordered[last], hits[last], last + 1, int(gold.sum()))


def average_precision_of(scores: Floats, gold: Bools) -> float:
    """Return the sum of precisions weighted by the steps of recall; nan if nothing is gold."""
    if not gold.any():
        return float("nan")
    curve = sweep(scores, gold)
    return float(np.sum(np.diff(curve.recall, prepend=0.0) * curve.precision))


def area_under_precision_recall(scores: Floats, gold: Bools) -> float:
    """Integrate precision over recall by trapezoids, from recall 0 and precision 1 on; nan if nothing is gold."""
    if not gold.any():
        return float("nan")
    curve = sweep(scores, gold)
    return trapezoid(np.append(0.0, curve.recall), np.append(1.0, curve.precision))


def roc_auc_of(scores: Floats, gold: Bools) -> float:
    """Return the chance that a gold feature outranks another one, ties counting half; nan if there is only one kind."""
    if not gold.any() or gold.all():
        return float("nan")
    curve = sweep(scores, gold)
    false_rate = (curve.chosen - curve.hits) / (len(gold) - curve.n_gold)
    return trapezoid(np.append(0.0, false_rate), np.append(0.0, curve.recall))


def trapezoid(x: Floats, y: Floats) -> float:
    """Integrate y over x by trapezoids."""
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2))
