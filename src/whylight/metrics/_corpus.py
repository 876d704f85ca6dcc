"""What metrics over a corpus share: scaled pairs, and the decision boundary that is best for them.

A scaled pair is (scores, gold), both `[features]`: non-negative scores, divided by their sum or maximum, and marks. A
boundary is tuned on one split and used on another that shares no text with it.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.core.marked import MarkedCorpus, MarkedPair
from whylight.metrics._plausibility import Scale, Sign, above, non_negative, scaled
from whylight.metrics._thresholds import sweep

Pair = tuple[Floats, Bools]
STANDARD = (
    *("micro_precision", "micro_recall", "micro_f1"),
    *("corpus_auprc", "corpus_average_precision", "kernel_regression_f1"),
)
"""The metrics over all words that a run has where it names none."""


def scaled_pairs(pairs: Iterable[MarkedPair], *, scale: Scale, sign: Sign) -> list[Pair]:
    """Return non-negative scores, divided by their sum or maximum, and gold marks."""
    return [(scaled(non_negative(pair.scores, sign), scale), pair.gold) for pair in pairs]


def tune_boundary(pairs: Sequence[Pair]) -> float:
    """Return the score at which micro F1 is highest, of all distinct scores above 0; of several, the highest.

    The search is exact, and takes n log n steps for n scores. Edin et al. 2024 try 0, 0.001, ..., 0.1 instead.
    """
    found = [(scores, gold) for scores, gold in pairs if gold.any()]
    if not found:
        raise SettingError("no pair has a rationale: none of their features is gold.")
    curve = sweep(np.concatenate([scores for scores, _ in found]), np.concatenate([gold for _, gold in found]))
    positive = curve.thresholds > 0
    if not positive.any():
        raise SettingError("there is no boundary to tune: no score of the validation pairs is above 0.")
    return float(curve.thresholds[positive][np.argmax(curve.f1[positive])])


def chosen_pairs(
    corpus: MarkedCorpus, *, boundary: float | None, scale: Scale, sign: Sign
) -> list[tuple[Bools, Bools]]:
    """Return chosen and gold features of each pair, at a boundary or at the one that is best on the tuning texts."""
    limit = tune_boundary(scaled_pairs(corpus.tuning, scale=scale, sign=sign)) if boundary is None else boundary
    return [(above(scores, limit), gold) for scores, gold in scaled_pairs(corpus.pairs, scale=scale, sign=sign)]
