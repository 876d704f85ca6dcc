"""Differences of metrics over all words together: the same texts are drawn for both sides."""

from collections.abc import Mapping

import numpy as np

from whylight.core.marked import marked_corpus
from whylight.core.registry import METRICS
from whylight.run.corpus import MarkedRows
from whylight.run.evaluation import Evaluation
from whylight.run.summary import TAILS, Cell


def over_all_words(
    metric: str, first: tuple[Evaluation, str], second: tuple[Evaluation, str], *, settings: Mapping[str, object]
) -> Cell:
    """Return the first minus the second by a metric over a corpus, on the texts that both have.

    Args:
        metric: The metric.
        first: A run, and one of its methods.
        second: Another.
        settings: Of the metric.
    """
    spec = METRICS[metric]
    both = [MarkedRows.of(run.explanations).pairs(method) for run, method in (first, second)]
    shared = {pair.text for pair in both[0]} & {pair.text for pair in both[1]}
    values = []
    for pairs in both:
        own = sorted((pair for pair in pairs if pair.text in shared), key=lambda pair: pair.text)
        corpus = marked_corpus(own, resamples=spec.facts["resamples"], seed=0)
        values.append(spec.function(corpus, **spec.complete_settings(settings)))
    difference = values[0] - values[1]
    low, high = np.percentile(difference[1:], TAILS)
    return Cell(float(difference[0]), float(low), float(high), len(shared))
