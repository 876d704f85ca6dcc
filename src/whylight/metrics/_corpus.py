"""Plausibility over a corpus: what exists only for many pairs (text, label) together.

A pair is (scores, gold), both `[features]`: non-negative scores, scaled within the pair, and gold marks. Pairs without
a gold feature have no rationale and are left out everywhere. A boundary or a share is tuned on one split and used on
another that shares no text with it: what tunes and what is measured are separate arguments or calls.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.metrics._plausibility import Agreement, above, agreement, harmonic, ratio
from whylight.metrics._thresholds import area_under_precision_recall, average_precision_of, sweep, trapezoid

Pair = tuple[Floats, Bools]
Judge = Callable[[Bools, Bools], float]
"""How good chosen features are, given the gold ones."""
CONFIDENT = 0.1
"""Scores above this say how long a rationale is, in Brinner and Zarriess 2023."""
KERNEL = 0.05
"""exp(-dx^2 / KERNEL) is how much a document says about another one, in Brinner and Zarriess 2023."""
TRIED_SHARES = np.linspace(0.01, 0.99, 150)
"""Among these the best share of a document is looked for."""
PUBLISHED_THRESHOLDS = np.linspace(0.0, 1.0, 101)
"""Where Edin et al. 2024 take the points of their precision-recall curve."""


def tune_boundary(pairs: Sequence[Pair]) -> float:
    """Return the score at which micro F1 is highest, of all distinct scores above 0; of several, the highest.

    The search is exact, and takes n log n steps for n scores. Edin et al. 2024 try 0, 0.001, ..., 0.1 instead.
    """
    scores, gold = _joined(pairs)
    curve = sweep(scores, gold)
    positive = curve.thresholds > 0
    if not positive.any():
        raise SettingError("there is no boundary to tune: no score of the validation pairs is above 0.")
    return float(curve.thresholds[positive][np.argmax(curve.f1[positive])])


def micro_prf(pairs: Sequence[Pair], *, boundary: float) -> Agreement:
    """Return precision, recall and F1 of the features of all pairs together."""
    scores, gold = _joined(pairs)
    return agreement(above(scores, boundary), gold)


def macro_prf(pairs: Sequence[Pair], *, boundary: float, f1: Literal["mean", "of_means"] = "mean") -> Agreement:
    """Return the means over pairs of precision, recall and F1.

    Args:
        pairs: Scores and gold marks.
        boundary: From which score on a feature is evidence.
        f1: `of_means` is Pham et al. 2022's: F1 of the mean precision and the mean recall.
    """
    each = [agreement(above(scores, boundary), gold) for scores, gold in _with_rationale(pairs)]
    precision = float(np.mean([one.precision for one in each]))
    recall = float(np.mean([one.recall for one in each]))
    mean = float(np.mean([one.f1 for one in each]))
    return Agreement(precision, recall, mean if f1 == "mean" else harmonic(precision, recall))


def empty_rate(pairs: Sequence[Pair], *, boundary: float) -> float:
    """Return the share of pairs in which no feature reaches the boundary."""
    return float(np.mean([not above(scores, boundary).any() for scores, _ in _with_rationale(pairs)]))


def corpus_auprc(pairs: Sequence[Pair], *, published: bool = False) -> float:
    """Return the area under the precision-recall curve of the features of all pairs together.

    The curve has a point at every distinct score; it is integrated by trapezoids over recall, from recall 0 and
    precision 1 on: scikit-learn's `precision_recall_curve` and `auc`.

    Args:
        pairs: Scores and gold marks.
        published: Edin et al. 2024's curve: points at 0, 0.01, ..., 1, features strictly above them, no starting point,
            and precision 0 where nothing is chosen.
    """
    scores, gold = _joined(pairs)
    if not published:
        return area_under_precision_recall(scores, gold)
    every, right = np.sort(scores), np.sort(scores[gold])
    chosen = len(every) - np.searchsorted(every, PUBLISHED_THRESHOLDS, side="right")
    hits = len(right) - np.searchsorted(right, PUBLISHED_THRESHOLDS, side="right")
    precision, recall = hits / np.maximum(chosen, 1), hits / len(right)
    return trapezoid(recall[::-1], precision[::-1])


def corpus_average_precision(pairs: Sequence[Pair]) -> float:
    """Return the average precision of the features of all pairs together: steps of recall times precision."""
    return average_precision_of(*_joined(pairs))


def token_f1_of(chosen: Bools, gold: Bools) -> float:
    """Return F1 of chosen features."""
    return agreement(chosen, gold).f1


def select_share(scores: Floats, share: float, *, strict: bool = False) -> Bools:
    """Mark about a share of the features: all that reach the score at place round(share n), the highest being place 0.

    Args:
        scores: Scores, `[features]`.
        share: Share of the features.
        strict: Leave out the feature at that place and all that tie with it, as the code behind the numbers of Brinner
            and Zarriess 2023 does ("legacy mode").
    """
    if not len(scores):
        return np.zeros(0, dtype=bool)
    place = min(round(share * len(scores)), len(scores) - 1)
    limit = np.sort(scores)[::-1][place]
    return np.asarray(scores > limit if strict else scores >= limit)


def oracle_share(pair: Pair, *, judge: Judge = token_f1_of, strict: bool = False) -> float:
    """Return the share of features at which a document does best, the smallest of several; gold marks are used.

    Args:
        pair: Scores and gold marks.
        judge: What is to be highest.
        strict: See `select_share`.
    """
    scores, gold = pair
    values = [judge(select_share(scores, share, strict=strict), gold) for share in TRIED_SHARES.tolist()]
    return float(TRIED_SHARES[int(np.argmax(values))])


def confident_share(scores: Floats) -> float:
    """Return the share of scores above 0.1; scores are to lie between 0 and 1, so scale them by their maximum."""
    return ratio(float((scores > CONFIDENT).sum()), len(scores))


def kernel_regression_share(
    validation: Sequence[Pair],
    scores: Sequence[Floats],
    *,
    judge: Judge = token_f1_of,
    leave_one_out: bool = False,
    strict: bool = False,
) -> Floats:
    """Guess which share of each document to mark, from the best shares of documents whose gold marks are known.

        y(x) = sum_k y_k exp(-(x_k - x)^2 / 0.05) / sum_k exp(-(x_k - x)^2 / 0.05)

    x is the share of scores above 0.1, y the share of features to mark (Nadaraya-Watson regression).

    Args:
        validation: Scores and gold marks of the documents that are learnt from.
        scores: Scores of the documents to mark, `[features]` each.
        judge: What the best share of a document is best for.
        leave_one_out: `scores` are those of the validation documents themselves, in the same order, and each is left
            out of its own guess: the way of Brinner and Zarriess 2023, whose regression is fitted on the test split.
        strict: See `select_share`; to be the same there.

    Returns:
        One share a document.
    """
    if leave_one_out and len(validation) != len(scores):
        raise SettingError("leave_one_out needs the scores of the validation documents themselves.")
    usable = np.asarray([gold.any() for _, gold in validation], dtype=bool)
    if usable.sum() < 1 + leave_one_out:
        raise SettingError("there are too few documents with a rationale to learn shares from.")
    best = np.asarray([oracle_share(pair, judge=judge, strict=strict) for pair in validation])
    seen = np.asarray([confident_share(one) for one, _ in validation])
    asked = np.asarray([confident_share(one) for one in scores])
    weights = np.exp(-((seen[None, :] - asked[:, None]) ** 2) / KERNEL) * usable  # [scores, validation]
    if leave_one_out:
        np.fill_diagonal(weights, 0.0)
    return np.asarray(weights @ best / weights.sum(axis=1))


def _with_rationale(pairs: Sequence[Pair]) -> list[Pair]:
    found = [(scores, gold) for scores, gold in pairs if gold.any()]
    if not found:
        raise SettingError("no pair has a rationale: none of their features is gold.")
    return found


def _joined(pairs: Sequence[Pair]) -> Pair:
    found = _with_rationale(pairs)
    return np.concatenate([scores for scores, _ in found]), np.concatenate([gold for _, gold in found])
