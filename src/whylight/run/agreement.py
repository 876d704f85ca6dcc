"""How far two explanations of the same text and label agree, from stored rows: between methods or between models."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from whylight.core.explanation import Explanation
from whylight.core.registry import METRICS, Spec
from whylight.run.summary import Cell, interval
from whylight.store.explanations import explanation_of
from whylight.store.tables import Row

Agreements = dict[str, float]
"""Of one text: by metric, the mean over its labels."""


def agreement_metrics() -> list[Spec]:
    """Return the metrics that compare two explanations."""
    every = [METRICS[name] for name in METRICS.names()]
    return [spec for spec in every if spec.consumes[1:] == (Explanation,)]


def agreement_of(first: Iterable[Row], second: Iterable[Row], method: str, other: str) -> dict[str, Agreements]:
    """Return by text how far one method's rows agree with another's; undefined values are left out.

    Args:
        first: Rows of the table `explanations`.
        second: Rows of the other run, or the same.
        method: Method of the first.
        other: Method of the second.
    """
    theirs = {_key(row): row for row in second if row["method"] == other}
    metrics = [(spec, spec.complete_settings({})) for spec in agreement_metrics()]
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in first:
        match = theirs.get(_key(row)) if row["method"] == method else None
        if match is not None:
            one, two = explanation_of(row), explanation_of(match)
            for spec, settings in metrics:
                value = float(spec.function(one, two, **settings)[0])
                if np.isfinite(value):
                    found[row["example_id"]][spec.name].append(value)
    return {text: {name: float(np.mean(own)) for name, own in by.items()} for text, by in found.items()}


def mean_agreement(by_text: Mapping[str, Agreements]) -> dict[str, Cell]:
    """Average agreement over texts, with intervals."""
    values: dict[str, list[float]] = defaultdict(list)
    for own in by_text.values():
        for name, value in own.items():
            values[name].append(value)
    return {name: interval(np.asarray(own)) for name, own in values.items()}


def _key(row: Row) -> tuple[object, ...]:
    """Return what two explanations share that score the same features for the same label.

    Two models may see a picture in two sizes, or call their labels otherwise.
    """
    return row["example_id"], row["target"], row["label"], row["input"], tuple(map(tuple, row["places"]))
