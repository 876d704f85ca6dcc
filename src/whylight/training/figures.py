"""How well a model classifies: accuracy and F1, or micro and macro F1 and mAP at a tuned threshold."""

from dataclasses import dataclass

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints
from whylight.metrics._thresholds import average_precision_of

GRID = np.linspace(0.0, 1.0, 101)[1:-1]
"""Thresholds that are tried, the same for all labels (Edin et al. 2024)."""
HALF = 0.5


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures by name, and the threshold that they are at, for models that have one."""

    values: dict[str, float]
    threshold: float | None = None


def single_label(probabilities: Floats, gold: Ints) -> Figures:
    """Return accuracy and macro F1 of classes `[texts]`."""
    predicted = probabilities.argmax(-1)
    scores = [_f1(predicted == one, gold == one) for one in range(probabilities.shape[1]) if (gold == one).any()]
    return Figures({"accuracy": float((predicted == gold).mean()), "macro_f1": float(np.mean(scores))})


def multi_label(probabilities: Floats, gold: Floats, *, threshold: float | None = None) -> Figures:
    """Return micro and macro F1 and mAP of marks `[texts, labels]`.

    Macro F1 and mAP are means over the labels that some text has. Without a threshold, the best for micro F1 is taken.
    """
    marks = gold > HALF
    chosen = best_threshold(probabilities, gold) if threshold is None else threshold
    predicted = probabilities >= chosen
    some = np.flatnonzero(marks.any(0))
    each = [average_precision_of(probabilities[:, j], marks[:, j]) for j in some]
    values = {
        "micro_f1": _f1(predicted, marks),
        "macro_f1": float(np.mean([_f1(predicted[:, j], marks[:, j]) for j in some])),
        "mean_average_precision": float(np.mean(each)),
    }
    return Figures(values, chosen)


def best_threshold(probabilities: Floats, gold: Floats) -> float:
    """Return the threshold on the grid with the highest micro F1; of several, the one nearest to one half."""
    scores = np.asarray([_f1(probabilities >= one, gold > HALF) for one in GRID])
    best = np.flatnonzero(scores >= scores.max() - 1e-12)
    return float(GRID[best[np.argmin(np.abs(GRID[best] - HALF))]])


def _f1(predicted: Bools, gold: Bools) -> float:
    hits = float((predicted & gold).sum())
    whole = float(predicted.sum() + gold.sum())
    return 2 * hits / whole if whole else 0.0
