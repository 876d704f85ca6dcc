"""Plausibility over all words of a corpus together: counts and curves over every (text, label) pair with a rationale.

    precision = hits / chosen,   recall = hits / gold,   summed over all pairs (micro, as in Edin et al. 2024)

A feature is chosen if it reaches the boundary, or is among the k highest of its pair (`micro_f1_at_k`). A boundary is
one on scores divided by their sum within the pair (`scale="max"`: by their maximum). Without a boundary the one is
taken at which micro F1 on the tuning texts is highest. Values are always finite: a corpus without a pair that has a
gold feature is refused when it is made. Each metric gives one value per draw of the corpus.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.marked import MarkedCorpus
from whylight.core.registry import metric
from whylight.metrics._corpus import Pair, chosen_pairs, scaled_pairs
from whylight.metrics._plausibility import Scale, Sign, best_positive, feature_agreement, non_negative
from whylight.metrics._thresholds import trapezoid

PUBLISHED_THRESHOLDS = np.linspace(0.0, 1.0, 101)
"""Where Edin et al. 2024 take the points of their precision-recall curve."""


@metric(cite="edin2024", higher_is_better=True)
def micro_precision(
    corpus: MarkedCorpus, *, boundary: float | None = None, scale: Scale = "sum", sign: Sign = "positive"
) -> Floats:
    """Measure which share of the features at the boundary is gold, over all features together.

    0 if nothing reaches the boundary. Higher is better.
    Reference: Edin et al. 2024. Cost: none.
    """
    hits, chosen, _ = _counts(corpus, boundary=boundary, scale=scale, sign=sign)
    return _ratios(hits, chosen)


@metric(cite="edin2024", higher_is_better=True)
def micro_recall(
    corpus: MarkedCorpus, *, boundary: float | None = None, scale: Scale = "sum", sign: Sign = "positive"
) -> Floats:
    """Measure which share of the gold features reaches the boundary, over all features together.

    Higher is better.
    Reference: Edin et al. 2024. Cost: none.
    """
    hits, _, gold = _counts(corpus, boundary=boundary, scale=scale, sign=sign)
    return hits / gold


@metric(cite="edin2024", higher_is_better=True)
def micro_f1(
    corpus: MarkedCorpus, *, boundary: float | None = None, scale: Scale = "sum", sign: Sign = "positive"
) -> Floats:
    """Measure how far the features at the boundary are the gold ones, over all features together.

        f1 = 2 hits / (chosen + gold)

    Higher is better.
    Reference: Edin et al. 2024. Cost: none.
    """
    hits, chosen, gold = _counts(corpus, boundary=boundary, scale=scale, sign=sign)
    return 2 * hits / (chosen + gold)


@metric(cite="barkan2024", higher_is_better=True)
def micro_f1_at_k(corpus: MarkedCorpus, *, k: int | Literal["rationale"] = 25, sign: Sign = "positive") -> Floats:
    """Measure how far the k highest features of each pair are the gold ones, over all features together.

        f1@k = 2 hits / (chosen + gold)

    What is chosen of a pair is that of `f1_at_k`: all of fewer than k features, and none whose score is not above 0.
    Higher is better.
    Reference: Barkan et al. 2024; DeYoung et al. 2020. Cost: none.
    """
    pairs = [(non_negative(pair.scores, sign), pair.gold) for pair in corpus.pairs]
    hits, chosen, gold = _summed(corpus, [(best_positive(scores, k, gold), gold) for scores, gold in pairs])
    return 2 * hits / (chosen + gold)


@metric(cite="pham2022", higher_is_better=True)
def f1_of_means(
    corpus: MarkedCorpus, *, boundary: float | None = None, scale: Scale = "sum", sign: Sign = "positive"
) -> Floats:
    """Measure F1 of the mean precision and the mean recall over pairs.

        f1 = 2 P R / (P + R),   P = mean precision of a pair,   R = mean recall of a pair

    It is not the mean F1 of a pair, which is `token_f1`. Pham et al. divide scores by their maximum (`scale="max"`). 0
    if no pair has a hit. Higher is better.
    Reference: Pham et al. 2022. Cost: none.
    """
    each = [feature_agreement(*own) for own in chosen_pairs(corpus, boundary=boundary, scale=scale, sign=sign)]
    precision = corpus.mean_over_pairs(np.asarray([one.precision for one in each]))
    recall = corpus.mean_over_pairs(np.asarray([one.recall for one in each]))
    return _ratios(2 * precision * recall, precision + recall)


@metric(cite="edin2024", higher_is_better=True)
def corpus_auprc(
    corpus: MarkedCorpus, *, published: bool = False, scale: Scale = "sum", sign: Sign = "positive"
) -> Floats:
    """Measure the area under the precision-recall curve of all features together.

    The curve has a point at every distinct score; it is integrated by trapezoids over recall, from recall 0 and
    precision 1 on: scikit-learn's `precision_recall_curve` and `auc`. `published=True` is Edin et al. 2024's curve:
    points at 0, 0.01, ..., 1, features strictly above them, no starting point, and precision 0 where nothing is chosen.
    Nearly all of these points lie above the highest score. Higher is better.
    Reference: Edin et al. 2024. Cost: none.
    """
    pairs = scaled_pairs(corpus.pairs, scale=scale, sign=sign)
    if published:
        return _published_areas(pairs, corpus.weights)
    ranked = _Ranked.of(pairs)
    return np.asarray([ranked.trapezoids(weights) for weights in corpus.weights])


@metric(cite="edin2024", higher_is_better=True)
def corpus_average_precision(corpus: MarkedCorpus, *, scale: Scale = "sum", sign: Sign = "positive") -> Floats:
    """Measure the average precision of all features together.

        ap = sum over thresholds of (recall - previous recall) * precision

    Higher is better.
    Reference: Edin et al. 2024. Cost: none.
    """
    ranked = _Ranked.of(scaled_pairs(corpus.pairs, scale=scale, sign=sign))
    return np.asarray([ranked.steps(weights) for weights in corpus.weights])


def _counts(corpus: MarkedCorpus, *, boundary: float | None, scale: Scale, sign: Sign) -> tuple[Floats, Floats, Floats]:
    """Return hits, chosen and gold features of all pairs together at a boundary, `[draws]` each."""
    return _summed(corpus, chosen_pairs(corpus, boundary=boundary, scale=scale, sign=sign))


def _summed(corpus: MarkedCorpus, pairs: Iterable[tuple[Bools, Bools]]) -> tuple[Floats, Floats, Floats]:
    """Return hits, chosen and gold features of all pairs together, `[draws]` each."""
    counts = np.asarray([[(chosen & gold).sum(), chosen.sum(), gold.sum()] for chosen, gold in pairs])  # [pairs, 3]
    hits, chosen, gold = (corpus.weights @ counts).T
    return hits, chosen, gold


def _ratios(parts: Floats, wholes: Floats) -> Floats:
    """Divide; nothing of nothing is 0."""
    some = wholes > 0
    return np.where(some, parts / np.where(some, wholes, 1.0), 0.0)


def _published_areas(pairs: list[Pair], weights: Floats) -> Floats:
    chosen = weights @ np.asarray([_strictly_above(scores) for scores, _ in pairs])  # [draws, thresholds]
    hits = weights @ np.asarray([_strictly_above(scores[gold]) for scores, gold in pairs])
    n_gold = weights @ np.asarray([gold.sum() for _, gold in pairs])
    precision, recall = hits / np.maximum(chosen, 1), hits / n_gold[:, None]
    return np.asarray([trapezoid(x[::-1], y[::-1]) for x, y in zip(recall, precision, strict=True)])


def _strictly_above(scores: Floats) -> Ints:
    return len(scores) - np.searchsorted(np.sort(scores), PUBLISHED_THRESHOLDS, side="right")


@dataclass(frozen=True, slots=True, eq=False)
class _Ranked:
    """All words in the order of their scores, so that a draw only needs new weights."""

    pair: Ints  # of each word
    last: Ints  # the last word of each group of equal scores
    gold_pair: Ints  # of each gold word
    gold_until: Ints  # how many gold words there are up to the last of each group

    @staticmethod
    def of(pairs: list[Pair]) -> "_Ranked":
        scores = np.concatenate([scores for scores, _ in pairs])
        number = np.repeat(np.arange(len(pairs)), [len(scores) for scores, _ in pairs])
        order = np.argsort(-scores, kind="stable")
        pair, gold = number[order], np.concatenate([gold for _, gold in pairs])[order]
        last = np.flatnonzero(np.diff(scores[order], append=-np.inf))
        return _Ranked(pair, last, pair[gold], np.cumsum(gold)[last])

    def trapezoids(self, weights: Floats) -> float:
        """Return the area by trapezoids, each pair counting as often as its weight says."""
        precision, recall = self._curve(weights)
        return trapezoid(np.append(0.0, recall), np.append(1.0, precision))

    def steps(self, weights: Floats) -> float:
        """Return the average precision, each pair counting as often as its weight says."""
        precision, recall = self._curve(weights)
        return float(np.sum(np.diff(recall, prepend=0.0) * precision))

    def _curve(self, weights: Floats) -> tuple[Floats, Floats]:
        chosen = np.cumsum(weights[self.pair])[self.last]
        hits = np.append(0.0, np.cumsum(weights[self.gold_pair]))[self.gold_until]
        some = chosen > 0
        return hits[some] / chosen[some], hits[some] / hits[-1]
