"""What the bundled model's card says, checked on the corpus itself where that is at hand."""

import re
from typing import Any

import numpy as np
import pytest

import whylight as wl
from shared import DATA, needs_shared
from whylight.core.text import Text
from whylight.explaining.case import open_case
from whylight.models.bundled_start import BUNDLED

TREES = DATA / "sst_trees"
LARGEST = 30_000_000


def sentences(split: str) -> list[tuple[str, int]]:
    """The sentences of a split that are not neutral, as white-space tokens, with 0 for negative and 1 for positive."""
    found = []
    for line in (TREES / f"{split}.txt").read_text(encoding="utf-8").splitlines():
        label = int(line[1])
        text = " ".join(re.findall(r" ([^()]+)\)", line)).replace("-LRB-", "(").replace("-RRB-", ")")
        if label != 2:
            found.append((text, int(label > 2)))
    return found


@pytest.fixture(scope="module")
def classifier() -> Any:
    return wl.load()


def test_the_model_is_small_and_knows_its_labels(classifier: Any) -> None:
    assert sum(path.stat().st_size for path in BUNDLED.iterdir()) <= LARGEST
    assert classifier.labels.names == ("negative", "positive")
    assert classifier.limit == 512


@needs_shared
@pytest.mark.slow
def test_its_accuracy_on_the_dev_sentences_is_at_least_86_percent(classifier: Any) -> None:
    dev = sentences("dev")
    assert len(dev) == 872
    right = [open_case(classifier, Text(text)).prediction.index == label for text, label in dev]
    assert np.mean(right) >= 0.86


@needs_shared
@pytest.mark.slow
def test_integrated_gradients_are_complete_on_real_sentences(classifier: Any) -> None:
    order = np.random.default_rng(0).permutation(872)[:50]
    texts = [sentences("dev")[i][0] for i in order]
    gaps = []
    for ex in wl.explain(classifier, texts, method=["integrated_gradients"]):
        gap = ex.provenance.completeness_gap[0]  # type: ignore[index]  # promised by the method
        difference = ex.scores.sum() - gap
        gaps.append(abs(gap) / max(abs(difference), 0.1))
    assert np.median(gaps) < 0.01, gaps
    assert np.percentile(gaps, 95) < 0.05, gaps
