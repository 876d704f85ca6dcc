"""How well a model classifies: accuracy and F1; of several labels, micro and macro F1 and two average precisions.

    document_average_precision: mean over documents with a label of AP(all labels, ranked by the document's probability)
    label_average_precision:    mean over labels with a document of AP(all documents, ranked by the label's probability)

    AP = sum over distinct probabilities, highest first, of the step of recall x precision

Both are called mAP elsewhere: Edin et al. and both of their repositories average over documents, and choose checkpoints
by that; scikit-learn's `average_precision_score` averages over labels unless it is told otherwise. Labels of the same
probability are ranked together, so that neither figure depends on their order. AP of a document without a label is
undefined: such documents are left out and counted.
"""

from dataclasses import dataclass

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.errors import InputError, SettingError
from whylight.metrics._thresholds import average_precision_of

GRID = np.linspace(0.0, 1.0, 101)[1:-1]
"""Thresholds that are tried, the same for all labels (Edin et al. 2024)."""
HALF = 0.5
BY_DOCUMENT, BY_LABEL = "document_average_precision", "label_average_precision"
AMBIGUOUS = "mean_average_precision"
"""What version 0.1 called the average over labels, and the first paper the one over documents."""


class NamedValues(dict[str, float]):
    """Figures by name; the name that two of them go by elsewhere is refused with both."""

    def __missing__(self, name: str) -> float:
        if name == AMBIGUOUS:
            raise SettingError(
                f"'{AMBIGUOUS}' could mean two figures: take '{BY_DOCUMENT}' (over the labels of each document, as in "
                f"Edin et al.) or '{BY_LABEL}' (over the documents of each label)."
            )
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures by name.

    Attributes:
        values: The figures.
        threshold: What they are at, of models that have one.
        unlabelled: Documents without a label, which `document_average_precision` leaves out.
    """

    values: NamedValues
    threshold: float | None = None
    unlabelled: int = 0


def single_label(probabilities: Floats, gold: Ints) -> Figures:
    """Return accuracy and macro F1 of classes `[texts]`."""
    predicted = probabilities.argmax(-1)
    scores = [_f1(predicted == one, gold == one) for one in range(probabilities.shape[1]) if (gold == one).any()]
    return Figures(NamedValues(accuracy=float((predicted == gold).mean()), macro_f1=float(np.mean(scores))))


def multi_label(probabilities: Floats, gold: Floats, *, threshold: float | None = None) -> Figures:
    """Return micro and macro F1 and both average precisions of marks `[texts, labels]`.

    Macro F1 is a mean over the labels that some text has. Without a threshold, the best for micro F1 is taken.
    """
    marks = gold > HALF
    if not marks.any():
        raise InputError("no text has a label, so that there is nothing to be right about.")
    chosen = best_threshold(probabilities, gold) if threshold is None else threshold
    predicted = probabilities >= chosen
    values = NamedValues(
        micro_f1=_f1(predicted, marks),
        macro_f1=float(np.mean([_f1(predicted[:, j], marks[:, j]) for j in np.flatnonzero(marks.any(0))])),
    )
    values[BY_DOCUMENT] = _mean_precision(probabilities, marks)
    values[BY_LABEL] = _mean_precision(probabilities.T, marks.T)
    return Figures(values, chosen, int((~marks.any(1)).sum()))


def _mean_precision(probabilities: Floats, marks: Bools) -> float:
    """Average the average precision of rows, over the rows that have a mark."""
    some = marks.any(1)
    pairs = zip(probabilities[some], marks[some], strict=True)
    return float(np.mean([average_precision_of(own, gold) for own, gold in pairs]))


def best_threshold(probabilities: Floats, gold: Floats) -> float:
    """Return the threshold on the grid with the highest micro F1; of several, the one nearest to one half."""
    scores = np.asarray([_f1(probabilities >= one, gold > HALF) for one in GRID])
    best = np.flatnonzero(scores >= scores.max() - 1e-12)
    return float(GRID[best[np.argmin(np.abs(GRID[best] - HALF))]])


def _f1(predicted: Bools, gold: Bools) -> float:
    hits = float((predicted & gold).sum())
    whole = float(predicted.sum() + gold.sum())
    return 2 * hits / whole if whole else 0.0
