"""What tests of metrics share: explanations made of words, games with known answers, rationales by feature."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from whylight.core.arrays import Bools, Floats
from whylight.core.explanation import Explanation, Prediction, Provenance
from whylight.core.labels import Target
from whylight.core.rationale import Rationale
from whylight.core.text import Span, Text
from whylight.views.game import Game

BOUNDARY = 0.3
"""Any boundary, for the metrics that need one."""


def explanation(
    scores: Any, *, words: Sequence[str] | None = None, targets: int | None = None, pair_from: int | None = None
) -> Explanation:
    """Explain words joined by blanks, from `pair_from` on of a second text; one row for several targets is shared."""
    rows = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    names = list(words) if words is not None else ["x"] * rows.shape[1]
    cut = len(names) if pair_from is None else pair_from
    texts = [names[:cut], names[cut:]]
    spans: list[Span] = []
    for part, text in enumerate(texts):
        start = 0
        for name in text:
            spans.append(Span(part, start, start + len(name)))
            start += len(name) + 1
    n_targets = len(rows) if targets is None else targets
    specific = len(rows) == n_targets
    receipt = Provenance("m", "x", {}, "word", None, "logit", True, specific, 0, 0, 0.0)  # noqa: FBT003
    return Explanation(
        Text(" ".join(texts[0]), None if pair_from is None else " ".join(texts[1])),
        tuple(spans),
        tuple(Target(i, str(i)) for i in range(n_targets)),
        rows,
        Prediction(index=0, label="0", probability=1.0, probabilities=(1.0,), predicted=(0,)),
        receipt,
    )


def rationale(made: Explanation, gold: Sequence[int]) -> Rationale:
    """Mark features by number."""
    return Rationale(tuple(made.spans[i] for i in gold))


def additive(worth: Any, *, base: float = 0.0) -> Game:
    """Each feature adds what it is worth, whoever else is there."""
    rows = np.atleast_2d(np.asarray(worth, dtype=np.float64))
    return Game(lambda keep: base + keep @ rows.T, n_features=rows.shape[1], n_targets=len(rows))


def probability(worth: Any, *, base: float = -1.0) -> Game:
    """A probability that grows with the sum of what the features are worth."""
    rows = np.atleast_2d(np.asarray(worth, dtype=np.float64))
    return Game(lambda keep: 1 / (1 + np.exp(-(base + keep @ rows.T))), n_features=rows.shape[1], n_targets=len(rows))


class Counted:
    """A game that remembers every row it is asked for."""

    def __init__(self, worth: Any) -> None:
        self.rows: list[bytes] = []
        self.calls = 0
        weights = np.atleast_2d(np.asarray(worth, dtype=np.float64))

        def value(keep: Bools) -> Floats:
            self.calls += 1
            self.rows += [row.tobytes() for row in keep]
            return np.asarray(1 / (1 + np.exp(-(keep @ weights.T))))

        self.game = Game(value, n_features=weights.shape[1], n_targets=len(weights))
