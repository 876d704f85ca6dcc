"""Measuring multi-label models: how well they classify, how well their words agree with marked evidence."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from document import spread
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

import whylight as wl
from whylight.data.dataset import Dataset
from whylight.explaining.case import open_case
from whylight.store.tables import Row
from whylight.training.figures import best_threshold, multi_label

Data = dict[str, Dataset]
Marks = np.ndarray[Any, np.dtype[np.bool_]]
"""Labels of texts, `[texts, labels]`."""
PLAUSIBLE = ("average_precision", "token_f1", "empty_rate")
PUNCTUATION = "non_alphanumeric_share"
FAITHFUL = ("aopc_comprehensiveness", "aopc_sufficiency")
METHODS = ("attention", "input_x_gradient", "attingrad")
WORD_SETTINGS = [(longest, strength) for longest in (1, 2) for strength in (1.0, 10.0, 100.0)]
"""Of the word baseline: words or also pairs of words, and the inverse of the penalty."""
DRAWS = 2000
TAILS = (2.5, 97.5)
Values = dict[tuple[str, str], dict[str, float]]
"""(method, metric) -> value of each text, the mean over its labels."""


@dataclass(frozen=True)
class Measured:
    """One model: classification, and values of explanations, as they are and without punctuation."""

    figures: dict[str, float]
    answers: Marks
    values: Values
    cleaned: Values


def measure(folder: Path, data: Data, *, texts: int, tuning: int, thorough: bool = True) -> Measured:
    """Measure a model; what was measured before is read.

    Args:
        folder: The model.
        data: Its splits.
        texts: Texts of test whose words are measured.
        tuning: Texts of dev on which boundaries are tuned.
        thorough: Also measure faithfulness, and everything again without punctuation.
    """
    clf = wl.load(folder)
    test, tune = data["test"].sample(texts, seed=0), data["dev"].sample(tuning, seed=0)
    asked: dict[str, Any] = {"methods": METHODS, "tune": tune, "settings": {"pooling": "l2"}, "progress": False}
    metrics = [*PLAUSIBLE, PUNCTUATION, *(FAITHFUL if thorough else ())]
    runs = folder / "runs"
    plain = wl.evaluate(clf, test, metrics=metrics, out=runs / "plain", **asked)
    probabilities, threshold = _probabilities(folder, clf, data["test"]), clf.labels.threshold
    figures = multi_label(probabilities, marks(data["test"]), threshold=threshold).values
    found = Measured(figures, probabilities >= threshold, values_of(plain.scores), {})
    if not thorough:
        return found
    cleaned = wl.evaluate(clf, test, metrics=PLAUSIBLE, zero_non_alphanumeric=True, out=runs / "cleaned", **asked)
    return replace(found, cleaned=values_of(cleaned.scores))


def word_baseline(data: Data) -> tuple[dict[str, float], Marks]:
    """Return figures and answers of logistic regression on TF-IDF; its settings and threshold are tuned on dev."""
    texts = {split: [record.example.text for record in one] for split, one in data.items()}
    gold = {split: marks(one) for split, one in data.items()}
    found = []
    for longest, strength in WORD_SETTINGS:
        seen = TfidfVectorizer(ngram_range=(1, longest), sublinear_tf=True, min_df=2).fit(texts["train"])
        model = OneVsRestClassifier(LogisticRegression(C=strength, max_iter=2000, class_weight="balanced"))
        model.fit(seen.transform(texts["train"]), gold["train"])
        dev, test = (model.predict_proba(seen.transform(texts[split])) for split in ("dev", "test"))
        threshold = best_threshold(dev, gold["dev"])
        told = [multi_label(p, gold[s], threshold=threshold).values for p, s in ((dev, "dev"), (test, "test"))]
        found.append((told[0]["micro_f1"], told[1], test >= threshold))
    _, figures, answers = max(found, key=lambda one: one[0])
    return figures, answers


def micro_f1_change(first: list[Marks], second: list[Marks], test: Dataset) -> str:
    """Return how much micro-F1 differs, seed by seed, with an interval that draws seeds and texts anew."""
    gold = marks(test).astype(bool)
    one, other = (
        np.asarray([[2 * (own & gold).sum(1), own.sum(1) + gold.sum(1)] for own in answers]).transpose(0, 2, 1)
        for answers in (first, second)
    )  # twice the right answers, and labels that were given plus true ones, [seeds, texts, 2]

    def micro_f1(counts: Any) -> Any:
        right, either = counts.sum(1).T
        return right / either

    def change(seeds: Any, rows: Any) -> float:
        chosen = np.ix_(seeds, rows)
        return float((micro_f1(one[chosen]) - micro_f1(other[chosen])).mean())

    return _with_interval(change, one, "+")


def classified(found: dict[str, list[Measured]], words: dict[str, float]) -> list[list[str]]:
    """Return a row a training, its figures over seeds, and one for the word baseline."""
    rows = [[name, *(spread([one.figures[key] for one in runs]) for key in words)] for name, runs in found.items()]
    return [*rows, ["TF-IDF logistic regression", *(f"{value:.3f}" for value in words.values())]]


def difference(first: list[dict[str, float]], second: list[dict[str, float]]) -> str:
    """Return the mean difference of two ways, text by text and seed by seed, with its interval."""
    pairs = zip(first, second, strict=True)
    return interval_of([{key: a[key] - b[key] for key in a if key in b} for a, b in pairs], sign="+")


def interval_of(runs: list[dict[str, float]], *, sign: str = "") -> str:
    """Return the mean over seeds and texts, with an interval that draws both anew."""
    texts = sorted(set().union(*runs))
    each = np.asarray([[one.get(text, np.nan) for text in texts] for one in runs])
    return _with_interval(lambda seeds, rows: float(np.nanmean(each[np.ix_(seeds, rows)], axis=1).mean()), each, sign)


def _with_interval(value: Callable[[Any, Any], float], each: Any, sign: str) -> str:
    """Write a function of seeds and texts, with an interval that draws both anew: the same texts for every seed."""
    generator = np.random.default_rng(0)
    counts = each.shape[:2]
    drawn = [value(*(generator.integers(count, size=count) for count in counts)) for _ in range(DRAWS)]
    low, high = np.percentile(drawn, TAILS)
    return f"{value(*map(np.arange, counts)):{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"


def mean_of(values: Values, method: str, metric: str) -> float:
    """Return the mean over texts."""
    return float(np.mean(list(values[method, metric].values())))


def _probabilities(folder: Path, clf: Any, test: Dataset) -> Any:
    """Return the probability of each label of each text; what was asked before is read."""
    kept = folder / "answers.npy"
    if not kept.is_file():
        np.save(kept, [np.asarray(open_case(clf, record.example).prediction.probabilities) for record in test])
    return np.load(kept)


def marks(data: Dataset) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the true labels of texts, 0 or 1, `[texts, labels]`."""
    return np.asarray([[float(name in record.labels) for name in data.label_names] for record in data])


def values_of(rows: list[Row]) -> Values:
    """Return the values of each method and metric, text by text."""
    each: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        if row["value"] is not None and np.isfinite(row["value"]):
            own = each.setdefault((row["method"], row["metric"]), {})
            own.setdefault(row["example_id"], []).append(float(row["value"]))
    return {key: {text: float(np.mean(v)) for text, v in own.items()} for key, own in each.items()}
