"""Explanations, rationales and games made of nothing but numbers: what metrics are checked on."""

from collections.abc import Sequence

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation, Prediction, Provenance
from whylight.core.labels import Target
from whylight.core.rationale import Rationale
from whylight.core.text import Span, Text


def words_explained(scores: Floats, words: Sequence[str], *, targets: int | None = None) -> Explanation:
    """Explain words joined by blanks.

    Args:
        scores: `[rows, words]`.
        words: The words.
        targets: How many labels share one row; as many as there are rows if left out.
    """
    starts = np.cumsum([0, *(len(word) + 1 for word in words)])
    spans = tuple(Span(0, int(start), int(start) + len(word)) for start, word in zip(starts, words, strict=False))
    n_targets = len(scores) if targets is None else targets
    receipt = Provenance(
        model="made up",
        method="made up",
        settings={},
        unit="word",
        remover=None,
        score="logit",
        signed=True,
        class_specific=targets is None,
        forward_passes=0,
        backward_passes=0,
        seconds=0.0,
    )
    return Explanation(
        Text(" ".join(words)),
        spans,
        tuple(Target(i, str(i)) for i in range(n_targets)),
        scores,
        Prediction(index=0, label="0", probability=1.0, probabilities=(1.0,), predicted=(0,)),
        receipt,
    )


def words_marked(explained: Explanation, gold: Sequence[int]) -> Rationale:
    """Mark words by number."""
    return Rationale(tuple(explained.places[i] for i in gold))
