"""Metrics over all words of a run together, from its stored rows.

Each method's scores for the (text, label) pairs that people marked are one marked corpus, and every metric over a
corpus is measured on it. Which ones, and with which settings, the stored question says; where it names none, the
standard ones are. Intervals resample texts, not words: words of a text stand or fall together.

What people marked, taken as an explanation, is no guess that could be tuned: its boundary is 0, and metrics that learn
from tuning texts in another way have no value for it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.inputs import Settings
from whylight.core.marked import MarkedPair, TuningNeededError, is_corpus_metric, marked_corpus
from whylight.core.registry import METRICS, Spec
from whylight.metrics._corpus import STANDARD, scaled_pairs, tune_boundary
from whylight.metrics._plausibility import Scale, Sign
from whylight.run.summary import TAILS, Cell, Cost, Line, Summary, cost_of, mean_cost
from whylight.store.tables import HUMAN, Row

CorpusMeasure = tuple[Spec, Settings]
"""A metric with its settings."""
Scaling = tuple[Scale, Sign]
"""How scores are made comparable before a boundary is tuned."""
MarkedKey = tuple[str, int]
"""A text and one of its labels."""


@dataclass(frozen=True, slots=True, eq=False)
class MarkedRows:
    """What the rows of a run have for metrics over a corpus, by method, in the order of the rows."""

    scores: dict[str, list[tuple[MarkedKey, Floats]]] = field(default_factory=lambda: defaultdict(list))
    marks: dict[MarkedKey, tuple[Bools, Ints]] = field(default_factory=dict)
    costs: dict[str, dict[str, Cost]] = field(default_factory=lambda: defaultdict(dict))

    @staticmethod
    def of(rows: Iterable[Row]) -> "MarkedRows":
        """Read rows once, and keep arrays alone."""
        found = MarkedRows()
        for row in rows:
            key, scores = (row["example_id"], row["target"]), np.asarray(row["scores"], dtype=np.float64)
            if row["method"] == HUMAN:
                found.marks[key] = scores > 0, _parts_of(row)
            found.scores[row["method"]].append((key, scores))
            found.costs[row["method"]][row["example_id"]] = cost_of(row)
        return found

    def pairs(self, method: str) -> list[MarkedPair]:
        """Return the pairs of a method that people marked."""
        return [
            MarkedPair(key[0], scores, *self.marks[key])
            for key, scores in self.scores.get(method, ())
            if key in self.marks and self.marks[key][0].any()
        ]


def named_measures(asked: Mapping[str, object]) -> list[CorpusMeasure]:
    """Return the metrics over a corpus that a stored question names."""
    named = asked.get("metrics")
    given = [(METRICS[name], own) for name, own in named.items()] if isinstance(named, Mapping) else []
    return [(spec, spec.complete_settings(own)) for spec, own in given if is_corpus_metric(spec)]


def measures_of(asked: Mapping[str, object]) -> list[CorpusMeasure]:
    """Return the metrics over a corpus that a run has: those that its question names, or the standard ones."""
    return named_measures(asked) or [(METRICS[name], METRICS[name].complete_settings({})) for name in STANDARD]


def needs_boundary(settings: Settings) -> bool:
    """Say whether a metric marks features at a boundary that nobody has set."""
    return "boundary" in settings and settings["boundary"] is None and settings.get("at") != "rationale"


def scaling_of(settings: Settings) -> Scaling:
    """Return how a metric scales scores before it holds them against a boundary."""
    scale: Scale = "max" if settings.get("scale") == "max" else "sum"
    sign: Sign = "absolute" if settings.get("sign") == "absolute" else "positive"
    return scale, sign


def boundaries_of(tuning: Iterable[Row], scalings: Iterable[Scaling]) -> dict[tuple[str, Scaling], float]:
    """Return the boundary of each method and scaling at which micro F1 on the tuning texts is highest."""
    rows, every = MarkedRows.of(tuning), list(dict.fromkeys(scalings))
    return {
        (method, (scale, sign)): tune_boundary(scaled_pairs(rows.pairs(method), scale=scale, sign=sign))
        for method in rows.scores
        if method != HUMAN
        for scale, sign in every
    }


def corpus_summary(
    explanations: Iterable[Row], tuning: Iterable[Row], measures: Iterable[CorpusMeasure], *, seed: int = 0
) -> Summary | None:
    """Return the table over all words together, or None where nothing has a rationale.

    Args:
        explanations: Rows of the evaluated texts, the `human` ones among them.
        tuning: Rows of the tuning texts; without them, metrics that learn from other texts have no value.
        measures: The metrics, see `measures_of`.
        seed: Of resampling.
    """
    rows, others, every = MarkedRows.of(explanations), MarkedRows.of(tuning), list(measures)
    lines = []
    for method in rows.scores:
        pairs = rows.pairs(method)
        if pairs:
            learnt = None if method == HUMAN else others.pairs(method) or None
            boundary = 0.0 if method == HUMAN and others.scores else None
            cells = _corpus_cells(every, pairs, learnt, boundary=boundary, seed=seed)
            lines.append(Line(method, cells, *mean_cost(rows.costs[method].values())))
    if not lines:
        return None
    measured = [spec for spec, _ in every if any(spec.name in line.cells for line in lines)]
    higher = {spec.name: bool(spec.facts["higher_is_better"]) for spec in measured}
    return Summary(tuple(higher), higher, tuple(lines))


def _corpus_cells(
    measures: list[CorpusMeasure],
    pairs: list[MarkedPair],
    tuning: list[MarkedPair] | None,
    *,
    boundary: float | None,
    seed: int,
) -> dict[str, Cell]:
    """Measure one method; what needs tuning texts, or a boundary instead, has no cell where there are none."""
    texts, cells = len({pair.text for pair in pairs}), {}
    numbers = {spec.facts["resamples"] for spec, _ in measures}
    corpora = {number: marked_corpus(pairs, tuning, resamples=number, seed=seed) for number in numbers}
    for spec, settings in measures:
        own = {**settings, "boundary": boundary} if needs_boundary(settings) else settings
        with suppress(TuningNeededError):
            values: Floats = spec.function(corpora[spec.facts["resamples"]], **own)
            low, high = np.percentile(values[1:], TAILS)
            cells[spec.name] = Cell(float(values[0]), float(low), float(high), texts)
    return cells


def _parts_of(row: Row) -> Ints:
    """Return which part of the input each feature of a row belongs to; what is not a text has one part."""
    places = [place[0] if row["kind"] == "text" else 0 for place in row["places"]]
    return np.asarray(places, dtype=np.int64)
