"""Plausibility over all words of a run together, from its stored rows.

    precision = hits / chosen, recall = hits / gold, over every (text, label) pair that has a rationale

at the boundary that is best on the tuning texts (micro, as in Edin et al. 2024); the areas under the precision-recall
curve of all words need no boundary. `kernel_regression_f1` marks the share of words that kernel regression expects of a
text (Brinner and Zarriess 2023), learnt from the tuning texts; it is a mean over pairs. Scores are the positive part,
divided by their sum within a pair. Intervals resample texts, not words: words of a text stand or fall together.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints
from whylight.metrics._corpus import Pair, kernel_regression_share, select_share, token_f1_of, tune_boundary
from whylight.metrics._plausibility import above, non_negative, scaled
from whylight.metrics._thresholds import trapezoid
from whylight.run.summary import COSTS, TAILS, Cell, Line, Summary, cost_of, interval
from whylight.store.tables import HUMAN, Row

RESAMPLES = 500
"""Fewer than for means: every one is a curve over all words."""
Pairs = list[tuple[str, Pair]]
"""Text, and the scores and gold marks of one of its labels."""


def pairs_of(explanations: Sequence[Row], method: str) -> Pairs:
    """Return scaled scores and gold marks of a method, for every text and label that people marked."""
    gold = {_key(row): np.asarray(row["scores"]) > 0 for row in explanations if row["method"] == HUMAN}
    found: Pairs = []
    for row in explanations:
        marks = gold.get(_key(row))
        if row["method"] == method and marks is not None and marks.any():
            scores = non_negative(np.asarray(row["scores"], dtype=np.float64), "positive")
            found.append((row["example_id"], (scaled(scores, "sum"), marks)))
    return found


def boundaries_of(tuning: Sequence[Row]) -> dict[str, float]:
    """Return the boundary of each method at which micro F1 on the tuning texts is highest; 0 marks all of `human`."""
    tuning = _needed(tuning)
    methods = dict.fromkeys(row["method"] for row in tuning)
    return {name: tune_boundary([own for _, own in pairs_of(tuning, name)]) for name in methods} | {HUMAN: 0.0}


def corpus_summary(explanations: Sequence[Row], tuning: Sequence[Row], *, seed: int = 0) -> Summary | None:
    """Return the table over all words together, or None where nothing has a rationale.

    Args:
        explanations: Rows of the evaluated texts, the `human` ones among them.
        tuning: Rows of the tuning texts; without them there is no boundary, and only the areas are given.
        seed: Of resampling.
    """
    explanations, tuning = _needed(explanations), _needed(tuning)
    lines = []
    for method in dict.fromkeys(row["method"] for row in explanations):
        own = pairs_of(explanations, method)
        if own:
            cells = _cells(own, pairs_of(tuning, method), human=method == HUMAN, seed=seed)
            lines.append(Line(method, cells, *cost_of([row for row in explanations if row["method"] == method])))
    if not lines:
        return None
    names = tuple(dict.fromkeys(name for line in lines for name in line.cells))
    return Summary(names, dict.fromkeys(names, True), tuple(lines))


def _needed(rows: Iterable[Row]) -> list[Row]:
    """Go through rows once, and keep what is needed here."""
    names = ("example_id", "method", "target", *COSTS)
    return [{**{n: row[n] for n in names}, "scores": np.asarray(row["scores"], dtype=np.float64)} for row in rows]


def _cells(own: Pairs, tuning: Pairs, *, human: bool, seed: int) -> dict[str, Cell]:
    drawn = _draws(own, seed=seed)
    cells: dict[str, Cell] = {}
    if tuning:
        boundary = 0.0 if human else tune_boundary([pair for _, pair in tuning])
        cells |= _micro(own, boundary, drawn)
    cells |= _areas(own, drawn)
    if tuning and not human:
        cells["kernel_regression_f1"] = _kernel_regression(own, [pair for _, pair in tuning], seed=seed)
    return cells


def _micro(own: Pairs, boundary: float, drawn: Floats) -> dict[str, Cell]:
    """Return precision, recall and F1 over all words at a boundary."""
    counts = np.asarray([_counts(scores, gold, boundary) for _, (scores, gold) in own])  # [pairs, 3]
    hits, chosen, gold = (drawn @ counts).T
    with np.errstate(invalid="ignore"):
        values = {
            "micro_precision": np.where(chosen > 0, hits / chosen, 0.0),
            "micro_recall": hits / gold,
            "micro_f1": 2 * hits / (chosen + gold),
        }
    texts = _texts(own)
    return {name: _cell(value, texts=texts) for name, value in values.items()}


def _counts(scores: Floats, gold: Bools, boundary: float) -> tuple[int, int, int]:
    chosen = above(scores, boundary)
    return int((chosen & gold).sum()), int(chosen.sum()), int(gold.sum())


def _areas(own: Pairs, drawn: Floats) -> dict[str, Cell]:
    """Return the areas under the precision-recall curve of all words, by trapezoids and by steps."""
    words = _Words.of(own)
    areas = np.asarray([words.areas(weights) for weights in drawn])
    texts = _texts(own)
    return {
        "corpus_auprc": _cell(areas[:, 0], texts=texts),
        "corpus_average_precision": _cell(areas[:, 1], texts=texts),
    }


def _kernel_regression(own: Pairs, tuning: list[Pair], *, seed: int) -> Cell:
    """Return mean F1 of marking the share of words that kernel regression expects, one a text."""
    to_maximum = [(scaled(scores, "max"), gold) for scores, gold in tuning]
    asked = [scaled(scores, "max") for _, (scores, _) in own]
    shares = kernel_regression_share(to_maximum, asked)
    values: dict[str, list[float]] = defaultdict(list)
    for (text, (_, gold)), scores, share in zip(own, asked, shares.tolist(), strict=True):
        values[text].append(token_f1_of(select_share(scores, share), gold))
    return interval(np.asarray([np.mean(one) for one in values.values()]), seed=seed)


@dataclass(frozen=True, slots=True, eq=False)
class _Words:
    """All words in the order of their scores, so that a resample only needs new weights."""

    pair: Ints
    gold: Floats
    last: Ints  # the last word of each group of equal scores

    @staticmethod
    def of(own: Pairs) -> "_Words":
        scores = np.concatenate([pair[0] for _, pair in own])
        gold = np.concatenate([pair[1] for _, pair in own]).astype(np.float64)
        number = np.repeat(np.arange(len(own)), [len(pair[0]) for _, pair in own])
        order = np.argsort(-scores, kind="stable")
        return _Words(number[order], gold[order], np.flatnonzero(np.diff(scores[order], append=-np.inf)))

    def areas(self, weights: Floats) -> tuple[float, float]:
        """Return the area by trapezoids and the average precision, each pair counting as often as its weight says."""
        each = weights[self.pair]
        chosen, hits = np.cumsum(each)[self.last], np.cumsum(each * self.gold)[self.last]
        some = chosen > 0
        precision, recall = hits[some] / chosen[some], hits[some] / hits[-1]
        trapezoids = trapezoid(np.append(0.0, recall), np.append(1.0, precision))
        return trapezoids, float(np.sum(np.diff(recall, prepend=0.0) * precision))


def _draws(own: Pairs, *, seed: int) -> Floats:
    """Return how often each pair is drawn, `[1 + resamples, pairs]`: once each in the first row."""
    texts = {text: number for number, text in enumerate(dict.fromkeys(text for text, _ in own))}
    number = np.asarray([texts[text] for text, _ in own])
    drawn = np.random.default_rng(seed).integers(len(texts), size=(RESAMPLES, len(texts)))
    times = np.stack([np.bincount(one, minlength=len(texts)) for one in drawn])
    return np.concatenate([np.ones((1, len(own))), times[:, number]]).astype(np.float64)


def _cell(values: Floats, *, texts: int) -> Cell:
    low, high = np.percentile(values[1:], TAILS)
    return Cell(float(values[0]), float(low), float(high), texts)


def _texts(own: Pairs) -> int:
    return len({text for text, _ in own})


def _key(row: Mapping[str, object]) -> tuple[object, object]:
    return row["example_id"], row["target"]
