"""Plausibility without a boundary of scores: mark the share of each document that kernel regression expects.

    y(x) = sum_k y_k exp(-(x_k - x)^2 / 0.05) / sum_k exp(-(x_k - x)^2 / 0.05)

x is the share of scores above 0.1, y the share of features to mark (Nadaraya-Watson regression); x_k and y_k are those
of documents whose gold marks are known, y_k the share at which document k does best by the metric in question: each
metric has a regression of its own. Scores are non-negative and divided by their maximum. It is learnt from the tuning
texts, or, as Brinner and Zarriess 2023 do, from the evaluated texts themselves, each left out of its own guess
(`leave_one_out`). Their numbers also depend on two details of their code:

- `strict` leaves out the feature at the last place and all that tie with it ("legacy mode");
- `sign="shifted"` subtracts the smallest score instead of dropping negative ones: with the division by the maximum,
  every method's scores, MaRC's aside, then go from 0 to 1 in each document.

Their code takes x_k and x over words that are cut differently; here both are over features.
Reference: Brinner and Zarriess 2023. Cost: none; per known document the metric at up to 150 shares.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.core.marked import MarkedCorpus, MarkedPair
from whylight.core.registry import metric
from whylight.metrics._plausibility import feature_agreement, non_negative, ratio, scaled, span_agreement

Shift = Literal["positive", "absolute", "shifted"]
"""How scores become non-negative; see the head of this file."""
Judge = Callable[[Bools, MarkedPair], float]
"""How good chosen features of a pair are."""
CONFIDENT = 0.1
"""Scores above this say how long a rationale is, in Brinner and Zarriess 2023."""
KERNEL = 0.05
"""exp(-dx^2 / KERNEL) is how much a document says about another one, in Brinner and Zarriess 2023."""
TRIED_SHARES = np.linspace(0.01, 0.99, 150)
"""Among these the best share of a document is looked for."""


@metric(cite="brinner2023", higher_is_better=True, resamples=2000)
def kernel_regression_f1(
    corpus: MarkedCorpus, *, leave_one_out: bool = False, strict: bool = False, sign: Shift = "positive"
) -> Floats:
    """Average F1 of features over texts, where each is marked up to the share that kernel regression expects of it.

    `leave_one_out` learns from the evaluated texts and needs two of them; no text has a part in its own guess. `strict`
    and `sign="shifted"` are as published. The pairs of a text are averaged before texts are. Higher is better.
    Reference: Brinner and Zarriess 2023. Cost: none.
    """
    return _average(corpus, token_f1_of, leave_one_out=leave_one_out, strict=strict, sign=sign)


@metric(cite="brinner2023", higher_is_better=True, resamples=2000)
def kernel_regression_iou_f1(
    corpus: MarkedCorpus, *, leave_one_out: bool = False, strict: bool = False, sign: Shift = "positive"
) -> Floats:
    """Average F1 of spans over texts, where each is marked up to the share that kernel regression expects of it.

    A span is a run of marked features, right if it shares at least half of its union with a gold one: `iou_f1`, whose
    `published=True` would change nothing here, because right spans are as many from either side. The settings are those
    of `kernel_regression_f1`; the regression is one of the shares that are best for spans. Higher is better.
    Reference: Brinner and Zarriess 2023. Cost: none.
    """
    return _average(corpus, span_f1_of, leave_one_out=leave_one_out, strict=strict, sign=sign)


def token_f1_of(chosen: Bools, pair: MarkedPair) -> float:
    """Return F1 of chosen features."""
    return feature_agreement(chosen, pair.gold).f1


def span_f1_of(chosen: Bools, pair: MarkedPair) -> float:
    """Return F1 of the runs of chosen features."""
    return span_agreement(chosen, pair.gold, pair.parts).f1


def select_share(scores: Floats, share: float, *, strict: bool = False) -> Bools:
    """Mark about a share of the features: all that reach the score at place round(share n), the highest being place 0.

    Args:
        scores: Scores, `[features]`.
        share: Share of the features.
        strict: Leave out the feature at that place and all that tie with it.
    """
    return _select_place(scores, _place_of(share, len(scores)), strict=strict)


def oracle_share(pair: MarkedPair, *, judge: Judge = token_f1_of, strict: bool = False) -> float:
    """Return the share of features at which a document does best, the smallest of several; gold marks are used.

    Args:
        pair: Scores and gold marks.
        judge: What is to be highest.
        strict: See `select_share`.
    """
    places = [_place_of(share, len(pair.scores)) for share in TRIED_SHARES.tolist()]
    values = {place: judge(_select_place(pair.scores, place, strict=strict), pair) for place in dict.fromkeys(places)}
    return float(TRIED_SHARES[int(np.argmax([values[place] for place in places]))])


def confident_share(scores: Floats) -> float:
    """Return the share of scores above 0.1; scores are to lie between 0 and 1, so scale them by their maximum."""
    return ratio(float((scores > CONFIDENT).sum()), len(scores))


def kernel_regression_share(
    known: Sequence[MarkedPair],
    asked: Sequence[MarkedPair],
    *,
    judge: Judge = token_f1_of,
    leave_one_out: bool = False,
    strict: bool = False,
) -> Floats:
    """Guess which share of each document to mark, from the best shares of documents whose gold marks are known.

    Args:
        known: Pairs that are learnt from; those without a gold feature say nothing.
        asked: Pairs to mark; their gold marks are not looked at.
        judge: What the best share of a document is best for.
        leave_one_out: Whether known pairs of a text have no part in the guesses about that text.
        strict: See `select_share`; to be the same there.

    Returns:
        One share per asked pair.
    """
    best = np.asarray([oracle_share(pair, judge=judge, strict=strict) for pair in known])
    seen = np.asarray([confident_share(pair.scores) for pair in known])
    usable = np.asarray([pair.gold.any() for pair in known], dtype=bool)
    texts = np.asarray([pair.text for pair in known], dtype=object)
    shares = np.empty(len(asked))
    for number, pair in enumerate(asked):  # one after the other: a table of all by all would fill the memory
        others = usable & (texts != pair.text) if leave_one_out else usable
        if not others.any():
            raise SettingError("there are too few documents with a rationale to learn shares from.")
        weights = np.exp(-((seen - confident_share(pair.scores)) ** 2) / KERNEL) * others  # [known]
        shares[number] = weights @ best / weights.sum()
    return shares


def _average(corpus: MarkedCorpus, judge: Judge, *, leave_one_out: bool, strict: bool, sign: Shift) -> Floats:
    """Mark each text up to the share that is expected of it, and average what the marks are worth over texts."""
    pairs = _to_maximum(corpus.pairs, sign)
    known = pairs if leave_one_out else _to_maximum(corpus.tuning, sign)
    shares = kernel_regression_share(known, pairs, judge=judge, leave_one_out=leave_one_out, strict=strict)
    marked = [select_share(one.scores, share, strict=strict) for one, share in zip(pairs, shares.tolist(), strict=True)]
    return corpus.mean_over_texts(np.asarray([judge(own, one) for own, one in zip(marked, pairs, strict=True)]))


def _place_of(share: float, size: int) -> int:
    return min(round(share * size), size - 1)


def _select_place(scores: Floats, place: int, *, strict: bool) -> Bools:
    """Mark the features that reach the score at a place, the highest being place 0, or those above it alone."""
    if not len(scores):
        return np.zeros(0, dtype=bool)
    limit = np.sort(scores)[::-1][place]
    return np.asarray(scores > limit if strict else scores >= limit)


def _to_maximum(pairs: Sequence[MarkedPair], sign: Shift) -> list[MarkedPair]:
    return [replace(pair, scores=scaled(_made_non_negative(pair.scores, sign), "max")) for pair in pairs]


def _made_non_negative(scores: Floats, sign: Shift) -> Floats:
    return scores - scores.min() if sign == "shifted" else non_negative(scores, sign)
