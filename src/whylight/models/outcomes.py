"""From coalitions to logits: windows are varied, distinct variants answered once, and put together again.

    logits(coalition) = mean over windows of  logits(variant of the window)

A remover may give several weighted draws of a variant. What a model says to them is averaged as probabilities, and
handed on as logits that give back the average.
"""

from collections.abc import Callable, Sequence

import numpy as np

from whylight.core import progress
from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.encoded import Encoded, Window
from whylight.core.labels import Labels
from whylight.views.batch import Batch, Removal
from whylight.views.classifier import Outcomes

ROWS_AT_ONCE, BYTES_AT_ONCE = 4096, 2**26
"""Variants of a window that are laid out in memory together."""

Answers = Callable[[Batch], Floats]
"""Rows -> logits `[rows, columns]`."""


def outcomes_of(
    encoded: Encoded, removal: Removal, answers: Answers, *, labels: Labels, columns: Sequence[int] | None
) -> Outcomes:
    """Return the function from coalitions to logits, of all columns or of some.

    Args:
        encoded: The input.
        removal: What "removed" means.
        answers: What the model says to rows.
        labels: Its labels.
        columns: The columns that are wanted.
    """
    at_once = max(1, min(ROWS_AT_ONCE, BYTES_AT_ONCE // max(one.row_bytes for one in encoded.windows)))

    def outcomes(keep: Bools) -> Floats:
        total = np.zeros((len(keep), len(labels)))
        with progress.blocks(-(-len(keep) // at_once)) as begin:
            for start in range(0, len(keep), at_once):
                begin()
                some = slice(start, start + at_once)
                for window in encoded.windows:
                    total[some] += _of_window(window, keep[some], removal, answers, labels)
        mean: Floats = total / len(encoded.windows)
        return mean if columns is None else mean[:, list(columns)]

    return outcomes


def _of_window(window: Window, keep: Bools, removal: Removal, answers: Answers, labels: Labels) -> Floats:
    """Return the logits of one window under coalitions, most of which agree on most windows."""
    first, which = distinct(keep[:, window.features])
    variants = removal(window, keep[first])
    found = answers(variants.batch)
    if variants.weights is not None:
        found = labels.averaged(found.reshape(*variants.weights.shape, -1), variants.weights)
    return found[which]


def distinct(keep: Bools) -> tuple[Ints, Ints]:
    """Return the first of each distinct row, in the order of the rows, and which of those each row is."""
    number: dict[bytes, int] = {}
    which = np.asarray([number.setdefault(row.tobytes(), len(number)) for row in np.packbits(keep, axis=1)])
    return np.unique(which, return_index=True)[1], which
