"""The marked corpus itself, and which metrics over it learn from other texts; promises are in `whylight.testing`."""

import numpy as np
import pytest

from whylight.core.errors import SettingError
from whylight.core.marked import MarkedPair, asks_for_tuning, is_corpus_metric, marked_corpus
from whylight.core.registry import METRICS
from whylight.testing.corpus_metrics import PAIRS

NAMES = [name for name in METRICS.names() if is_corpus_metric(METRICS[name])]


def test_who_asks_for_tuning_texts() -> None:
    asking = {name for name in NAMES if asks_for_tuning(METRICS[name], METRICS[name].complete_settings({}))}
    assert {"micro_f1", "f1_of_means", "kernel_regression_f1"} <= asking
    assert not asking & {"corpus_auprc", "corpus_average_precision"}
    for name, settings in (("micro_f1", {"boundary": 0.2}), ("kernel_regression_f1", {"leave_one_out": True})):
        assert not asks_for_tuning(METRICS[name], METRICS[name].complete_settings(settings))


def test_a_corpus_without_rationales_is_refused() -> None:
    with pytest.raises(SettingError, match="no pair has a rationale"):
        marked_corpus([MarkedPair("a", np.ones(2), np.zeros(2, dtype=bool), np.zeros(2, dtype=np.int64))])


def test_texts_are_drawn_whole() -> None:
    weights = marked_corpus(PAIRS, resamples=50).weights
    texts = [one.text for one in PAIRS]
    firsts = [texts.index(text) for text in texts]
    np.testing.assert_array_equal(weights, weights[:, firsts])
    assert (weights[0] == 1).all()
    np.testing.assert_array_equal(weights[:, sorted(set(firsts))].sum(axis=1), np.full(51, 7.0))
