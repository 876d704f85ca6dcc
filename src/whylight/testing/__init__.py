"""Contracts as a product: what a plug-in promises by being one, checked in one line of its author's own test.

Each `check_*` runs all checks and raises one `AssertionError`, with a sentence per promise that is broken. Each
`*_checks` yields the same checks one by one, as (name, function without arguments), for a test runner that lists them.
Nothing is downloaded, and no test library is needed.

Example:
    >>> from whylight.testing import check_method
    >>> check_method("occlusion")
"""

from whylight.testing.classifiers import check_classifier, classifier_checks
from whylight.testing.corpora import check_corpus, corpus_checks
from whylight.testing.methods import check_method, method_checks
from whylight.testing.metrics import check_metric, metric_checks
from whylight.testing.objectives import check_objective, objective_checks
from whylight.testing.removers import Untouched, check_remover, remover_checks

__all__ = [
    "Untouched",
    "check_classifier",
    "check_corpus",
    "check_method",
    "check_metric",
    "check_objective",
    "check_remover",
    "classifier_checks",
    "corpus_checks",
    "method_checks",
    "metric_checks",
    "objective_checks",
    "remover_checks",
]
