"""Plausibility over all words together, from stored rows: the figures of scikit-learn, and of the metrics named."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import (
    auc,
    average_precision_score,
    f1_score,
    precision_recall_curve,
    precision_recall_fscore_support,
)

from run_rows import explanation_row
from whylight.core.arrays import Floats
from whylight.core.marked import MarkedPair, marked_corpus
from whylight.metrics._corpus import STANDARD
from whylight.metrics.corpus import corpus_auprc, f1_of_means, micro_f1
from whylight.metrics.kernel_regression import kernel_regression_share, select_share
from whylight.run.corpus import MarkedRows, boundaries_of, corpus_summary, measures_of
from whylight.run.summary import Summary, interval
from whylight.store.tables import Row

TEXT = "one two three four five six"


def rows(*, seed: int, texts: int = 12, prefix: str = "t") -> list[Row]:
    """Random scores of two methods beside what people marked; every other text has a second label."""
    generator = np.random.default_rng(seed)
    made = []
    for i in range(texts):
        for target in range(1 + i % 2):
            gold = generator.permutation([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
            for method, scores in {
                "good": gold + generator.normal(scale=0.5, size=6),
                "poor": generator.normal(size=6),
                "human": gold,
            }.items():
                made.append(explanation_row(f"{prefix}{i}", method, scores.tolist(), text=TEXT, target=target))
    return made


def figures(made: list[Row], tuning: list[Row], **named: dict[str, Any]) -> Summary:
    """The table over all words, of the metrics named with their settings or of the usual ones."""
    found = corpus_summary(made, tuning, measures_of({"metrics": named}))
    assert found is not None
    return found


def drawn_texts(count: int, resamples: int) -> Floats:
    """How often each text is drawn, the texts themselves first: numpy's generator from seed 0."""
    drawn = np.random.default_rng(0).integers(count, size=(resamples, count))
    return np.stack([np.ones(count), *(np.bincount(one, minlength=count) for one in drawn)])


def cell(values: Any) -> list[float]:
    return [values[0], *np.percentile(values[1:], (2.5, 97.5))]


def test_without_a_name_the_table_is_the_usual_one_and_scikit_learn_has_its_figures() -> None:
    own, tuning = rows(seed=0), rows(seed=1, prefix="v")
    found = figures(own, tuning)
    assert found.metrics == STANDARD
    assert [line.method for line in found.lines] == ["good", "poor", "human"]
    boundaries = boundaries_of(tuning, [("sum", "positive")])
    for line in found.lines[:2]:
        pairs = MarkedRows.of(own).pairs(line.method)
        assert len(pairs) == 18
        scores = np.concatenate([np.maximum(one.scores, 0) / np.maximum(one.scores, 0).sum() for one in pairs])
        gold = np.concatenate([one.gold for one in pairs])
        words = np.asarray([int(one.text[1:]) for one in pairs for _ in one.gold])  # the text of each word
        chosen = (scores >= boundaries.get((line.method, ("sum", "positive")), 0.0)) & (scores > 0)
        expected: dict[str, list[Any]] = {name: [] for name in found.metrics}
        agreed = precision_recall_fscore_support(gold, chosen, average="binary")
        expected = dict(zip(("micro_precision", "micro_recall", "micro_f1"), agreed[:3], strict=True))
        precision, recall, _ = precision_recall_curve(gold, scores)
        expected["corpus_auprc"] = auc(recall, precision)
        drawn = [
            average_precision_score(gold, scores, sample_weight=weights) for weights in drawn_texts(12, 500)[:, words]
        ]
        expected["corpus_average_precision"] = drawn[0]
        assert set(expected) == set(STANDARD[:-1])
        for name, value in expected.items():
            assert line.cells[name].mean == pytest.approx(value, rel=1e-12)
        found_interval = line.cells["corpus_average_precision"]
        assert [found_interval.low, found_interval.high] == pytest.approx(cell(drawn)[1:], rel=1e-12)


def test_kernel_regression_is_a_mean_over_texts_with_the_interval_of_means() -> None:
    own, tuning = rows(seed=0), rows(seed=1, prefix="v")
    lines = {line.method: line for line in figures(own, tuning).lines}
    assert "kernel_regression_f1" not in lines["human"].cells
    for method in ("good", "poor"):
        pairs, known = ([_by_maximum(one) for one in MarkedRows.of(r).pairs(method)] for r in (own, tuning))
        by_text: dict[str, list[float]] = defaultdict(list)
        for one, share in zip(pairs, kernel_regression_share(known, pairs), strict=True):
            by_text[one.text].append(f1_score(one.gold, select_share(one.scores, share)))
        expected = interval(np.asarray([np.mean(values) for values in by_text.values()]))
        got = lines[method].cells["kernel_regression_f1"]
        assert [got.mean, got.low, got.high] == pytest.approx([expected.mean, expected.low, expected.high], rel=1e-12)


def _by_maximum(one: MarkedPair) -> MarkedPair:
    return replace(one, scores=np.maximum(one.scores, 0) / one.scores.max())


def test_named_metrics_alone_are_measured_with_their_settings() -> None:
    own, tuning = rows(seed=0), rows(seed=1, prefix="v")
    usual = {line.method: line.cells for line in figures(own, tuning).lines}
    found = figures(own, tuning, iou={}, corpus_auprc={"published": True}, f1_of_means={"scale": "max"})
    assert found.metrics == ("corpus_auprc", "f1_of_means")
    assert found.higher_is_better == {"corpus_auprc": True, "f1_of_means": True}
    for line in found.lines[:2]:
        corpus = marked_corpus(MarkedRows.of(own).pairs(line.method), MarkedRows.of(tuning).pairs(line.method))
        assert line.cells["corpus_auprc"].mean == corpus_auprc(corpus, published=True)[0]
        assert line.cells["corpus_auprc"].mean != usual[line.method]["corpus_auprc"].mean
        assert line.cells["f1_of_means"].mean == pytest.approx(f1_of_means(corpus, scale="max")[0])


def test_a_boundary_is_tuned_on_scores_that_are_scaled_as_they_are_measured() -> None:
    tuning = rows(seed=1, prefix="v")
    found = boundaries_of(tuning, [("sum", "positive"), ("max", "positive"), ("sum", "absolute")])
    assert {method for method, _ in found} == {"good", "poor"}
    for method in ("good", "poor"):
        by_sum, by_maximum = (found[method, (scale, "positive")] for scale in ("sum", "max"))
        pairs = MarkedRows.of(tuning).pairs(method)
        for scale, boundary in (("sum", by_sum), ("max", by_maximum)):
            settings: dict[str, Any] = {"scale": scale}
            best = micro_f1(marked_corpus(pairs), boundary=boundary, **settings)
            tried = [micro_f1(marked_corpus(pairs), boundary=one, **settings) for one in np.linspace(0.01, 1, 100)]
            assert best >= max(tried)
        assert by_sum < by_maximum


def test_rows_are_read_once_and_in_any_order() -> None:
    own, tuning = rows(seed=0), rows(seed=1, prefix="v")
    found = figures(own, tuning)
    once = corpus_summary(iter(own), iter(tuning), measures_of({}))
    assert once == found
    people_first = sorted(own, key=lambda row: row["method"] != "human")
    again = {line.method: line for line in figures(people_first, tuning).lines}
    assert again == {line.method: line for line in found.lines}


def test_intervals_hold_the_figure_and_better_scores_are_better() -> None:
    found = figures(rows(seed=0), rows(seed=1, prefix="v"))
    lines = {line.method: line.cells for line in found.lines}
    for own in lines.values():
        assert all(cell.low <= cell.mean <= cell.high for cell in own.values())
        assert all(cell.texts == 12 for cell in own.values())
    for name in ("micro_f1", "corpus_auprc", "corpus_average_precision", "kernel_regression_f1"):
        assert lines["good"][name].low > lines["poor"][name].mean
    assert lines["human"]["micro_f1"].mean == 1.0


def test_texts_are_resampled_whole() -> None:
    """A text of many words, all of them alike, is one observation: its interval is wide."""
    one = [explanation_row("a", m, s, text=TEXT) for m, s in (("good", [1.0] * 6), ("human", [1.0] * 6))]
    other = [explanation_row("b", m, s, text=TEXT) for m, s in (("good", [1.0] * 6), ("human", [1.0] + [0.0] * 5))]
    found = figures([*one, *other], [])
    cell = found.lines[0].cells["corpus_average_precision"]
    assert cell.low == pytest.approx(1 / 6)
    assert cell.high == pytest.approx(1.0)


def test_without_tuning_there_is_no_boundary_and_without_rationales_nothing() -> None:
    own = rows(seed=0)
    found = figures(own, [])
    assert found.metrics == ("corpus_auprc", "corpus_average_precision")
    assert corpus_summary([row for row in own if row["method"] != "human"], [], measures_of({})) is None
