"""What plausibility metrics share: scores of one pair (text, label), its gold features, and how they agree.

Scores are made non-negative first: the positive part of signed scores, or their absolute values (`sign="absolute"`,
Ferreira et al.). A decision boundary is one on scores divided by their sum (`scale="max"`: by their maximum, Pham et
al. 2022); a feature is evidence if it reaches the boundary and is above 0.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.metrics._curves import check_positive, top

Sign = Literal["positive", "absolute"]
Scale = Literal["sum", "max"]
HALF = 0.5
"""Two spans are the same if they share at least this much of their union."""


@dataclass(frozen=True, slots=True)
class PrecisionRecall:
    """How far chosen features and gold features agree."""

    precision: float
    recall: float
    f1: float


def non_negative(scores: Floats, sign: Sign) -> Floats:
    """Return the positive part of scores, or their absolute values."""
    return np.abs(scores) if sign == "absolute" else np.maximum(scores, 0.0)


def scaled(scores: Floats, scale: Scale) -> Floats:
    """Divide non-negative scores `[..., features]` by their sum or maximum; all zeros stay as they are."""
    total = scores.sum(axis=-1, keepdims=True) if scale == "sum" else scores.max(axis=-1, keepdims=True, initial=0.0)
    return np.asarray(scores / np.where(total > 0, total, 1.0))


def single_row(explanation: Explanation) -> Floats:
    """Return the scores that a rationale can be held against, `[features]`."""
    if len(explanation.scores) != 1:
        raise SettingError("a rationale is of one label; explain one target at a time.")
    row: Floats = explanation.scores[0]
    return row


def pair(explanation: Explanation, rationale: Rationale, *, sign: Sign) -> tuple[Floats, Bools]:
    """Return the non-negative scores and the gold marks of one explanation, `[features]` each."""
    return non_negative(single_row(explanation), sign), explanation.example.marks(rationale.places, explanation.places)


def above(scores: Floats, boundary: float | None) -> Bools:
    """Mark the scores that are evidence at a boundary."""
    if boundary is None:
        raise SettingError("the setting 'boundary' is needed: from which scaled score on a feature is evidence.")
    return np.asarray((scores >= boundary) & (scores > 0))


def at_boundary(
    explanation: Explanation, rationale: Rationale, *, boundary: float | None, scale: Scale, sign: Sign
) -> tuple[Bools, Bools]:
    """Return the chosen and the gold features of one explanation."""
    scores, gold = pair(explanation, rationale, sign=sign)
    return above(scaled(scores, scale), boundary), gold


def best(scores: Floats, k: int | Literal["rationale"], gold: Bools) -> Bools:
    """Mark the k highest scores, or as many as are gold; ties in reading order."""
    count = int(gold.sum()) if k == "rationale" else int(k)
    if k != "rationale":
        check_positive("k", count)
    return np.asarray(top(scores[None], [count])[0, 0])


def best_positive(scores: Floats, k: int | Literal["rationale"], gold: Bools) -> Bools:
    """Mark the k highest scores, or as many as are gold, without those that are not above 0; ties in reading order."""
    return best(scores, k, gold) & (scores > 0)


def one_value(value: float, gold: Bools) -> Floats:
    """Return the value of one pair, or nan if no feature of it is gold."""
    return np.asarray([value if gold.any() else np.nan], dtype=np.float64)


def ratio(part: float, whole: float) -> float:
    """Divide; nothing of nothing is 0."""
    return float(part / whole) if whole else 0.0


def harmonic(precision: float, recall: float) -> float:
    """Return F1 of a precision and a recall."""
    return ratio(2 * precision * recall, precision + recall)


def feature_agreement(chosen: Bools, gold: Bools) -> PrecisionRecall:
    """Compare chosen and gold features one by one."""
    hits = float((chosen & gold).sum())
    n_chosen, n_gold = float(chosen.sum()), float(gold.sum())
    return PrecisionRecall(ratio(hits, n_chosen), ratio(hits, n_gold), ratio(2 * hits, n_chosen + n_gold))


def feature_parts(explanation: Explanation) -> Ints:
    """Return which text of a pair each feature belongs to."""
    return np.asarray([getattr(place, "part", 0) for place in explanation.places], dtype=np.int64)


def marked_runs(marks: Bools, part: Ints | None = None) -> list[tuple[int, int]]:
    """Return the maximal runs of marked features as (first, one past the last); none goes from one text to the next."""
    places = np.flatnonzero(marks)
    if not len(places):
        return []
    cut = np.diff(places) > 1
    if part is not None:
        cut |= np.diff(part[places]) != 0
    starts, ends = places[np.append(True, cut)], places[np.append(cut, True)] + 1
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def same_spans(one: list[tuple[int, int]], others: list[tuple[int, int]]) -> int:
    """Count the spans that share at least half of their union with one of the others; both are in reading order.

    Such a one holds half of the span and so one of its two middle features: two of the others are looked at, not all.
    """
    if not one or not others:
        return 0
    (start, end), (starts, ends) = np.asarray(one).T, np.asarray(others).T
    right = np.zeros(len(one), dtype=bool)
    for middle in ((start + end - 1) // 2, (start + end) // 2):
        near = np.maximum(np.searchsorted(starts, middle, side="right") - 1, 0)  # the last that starts up to there
        shared = np.minimum(end, ends[near]) - np.maximum(start, starts[near])  # below 0 where they are apart
        right |= shared >= HALF * (end - start + ends[near] - starts[near] - shared)
    return int(right.sum())


def span_agreement(chosen: Bools, gold: Bools, part: Ints | None = None, *, published: bool = False) -> PrecisionRecall:
    """Compare runs of chosen features with runs of gold features."""
    predicted, wanted = marked_runs(chosen, part), marked_runs(gold, part)
    right = same_spans(predicted, wanted)
    found = right if published else same_spans(wanted, predicted)
    precision, recall = ratio(right, len(predicted)), ratio(found, len(wanted))
    return PrecisionRecall(precision, recall, harmonic(precision, recall))
