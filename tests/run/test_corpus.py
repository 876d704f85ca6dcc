"""Plausibility over all words together: the figures of the metrics' own functions, from stored rows."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from run_rows import explanation_row
from whylight.metrics._corpus import corpus_auprc, corpus_average_precision, micro_prf
from whylight.run.corpus import boundaries_of, corpus_summary, pairs_of
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


def test_every_figure_is_that_of_the_joined_words() -> None:
    own, tuning = rows(seed=0), rows(seed=1, prefix="v")
    found = corpus_summary(own, tuning)
    assert found is not None
    for line in found.lines:
        pairs = [pair for _, pair in pairs_of(own, line.method)]
        assert len(pairs) == 18
        joined = [np.concatenate(column) for column in zip(*pairs, strict=True)]
        assert line.cells["corpus_auprc"].mean == pytest.approx(corpus_auprc(pairs))
        assert line.cells["corpus_average_precision"].mean == pytest.approx(corpus_average_precision(pairs))
        assert line.cells["corpus_average_precision"].mean == pytest.approx(
            average_precision_score(joined[1], joined[0])
        )
        boundary = boundaries_of(tuning)[line.method]
        agreed = micro_prf(pairs, boundary=boundary)
        got = [line.cells[f"micro_{name}"].mean for name in ("precision", "recall", "f1")]
        assert got == pytest.approx([agreed.precision, agreed.recall, agreed.f1])


def test_intervals_hold_the_figure_and_better_scores_are_better() -> None:
    found = corpus_summary(rows(seed=0), rows(seed=1, prefix="v"))
    assert found is not None
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
    found = corpus_summary([*one, *other], [])
    assert found is not None
    cell = found.lines[0].cells["corpus_average_precision"]
    assert cell.low == pytest.approx(1 / 6)
    assert cell.high == pytest.approx(1.0)


def test_without_tuning_there_is_no_boundary_and_without_rationales_nothing() -> None:
    own = rows(seed=0)
    found = corpus_summary(own, [])
    assert found is not None
    assert found.metrics == ("corpus_auprc", "corpus_average_precision")
    assert corpus_summary([row for row in own if row["method"] != "human"], []) is None
