"""What tests of metrics share: explanations made of words, games with known answers, rationales, marked pairs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from whylight.core.arrays import Bools, Floats
from whylight.core.explanation import Explanation, Prediction, Provenance
from whylight.core.labels import Target
from whylight.core.marked import MarkedPair
from whylight.core.rationale import Rationale
from whylight.core.text import Span, Text
from whylight.views.game import Game

BOUNDARY = 0.3
"""Any boundary, for the metrics that need one."""
Documents = list[list[tuple[int, bool]]]
"""Scores of words and whether each is gold, of several documents."""

documents = st.lists(
    st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=8), min_size=1, max_size=5
).filter(lambda found: any(g for one in found for _, g in one) and any(s and g for one in found for s, g in one))


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


def pair(scores: list[float] | Floats, gold: list[int], *, text: str = "") -> MarkedPair:
    """A pair by its scores and the numbers of its gold features; without a name it is a text of its own."""
    values = np.asarray(scores, dtype=np.float64)
    marks = np.isin(np.arange(len(values)), gold)
    return MarkedPair(text or f"{values.tolist()} {gold}", values, marks, np.zeros(len(values), dtype=np.int64))


def made(drawn: Documents) -> list[MarkedPair]:
    return [
        pair([s / 6 for s, _ in one], [i for i, (_, g) in enumerate(one) if g], text=str(number))
        for number, one in enumerate(drawn)
    ]
