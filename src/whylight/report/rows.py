"""One method's answer for one label, before it is known how it is drawn; the kind of the input knows that."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from rich.text import Text

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.labels import Target
from whylight.report.numbers import answered, shown_score
from whylight.report.renderers import Manner, renderer_of
from whylight.report.templating import markup_of

STRONGEST = 5
"""How many words are listed on each side."""
_NEGLIGIBLE = 0.005
"""Share of the row's largest magnitude that a word needs in order to be listed; below it would be shown as 0."""


@dataclass(frozen=True, slots=True)
class Word:
    """An entry in the list of strongest words: its text, score, score as shown, and percent of the row's largest."""

    text: str
    score: float
    shown: str
    percent: int


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One method's answer for one target.

    Attributes:
        explanation: The answer.
        method: Name of the method.
        caption: What tells this row from another one of the same method, or "".
        target: The label explained.
        probability: Its probability as shown.
        signed: Whether the row speaks for and against.
        same: Whether the row holds for every label alike.
        strongest: Words that speak for the label, or the most important ones.
        against: Words that speak against the label.
        stacked: Whether it is one layer of a picture.
    """

    explanation: Explanation
    method: str
    caption: str
    target: Target
    probability: str
    signed: bool
    same: bool
    strongest: tuple[Word, ...]
    against: tuple[Word, ...]
    stacked: bool = False

    @property
    def kind(self) -> str:
        """The kind of the input."""
        return self.explanation.example.kind

    def html(self, manner: Manner) -> Markup:
        """Return the input with its scores for a page."""
        return markup_of(renderer_of(self.kind).html(self, manner))

    def tile(self, *, brief: bool) -> Markup:
        """Return the input with its scores for the report of a run."""
        return markup_of(renderer_of(self.kind).tile(self, brief))

    def lines(self, manner: Manner, *, width: int) -> Sequence[Text]:
        """Return the input with its scores for a terminal."""
        return renderer_of(self.kind).lines(self, manner, width)


def answer_row(explanation: Explanation, target: Target, *, caption: str = "", stacked: bool = False) -> AnswerRow:
    """Return what an explanation says of a target."""
    receipt = explanation.provenance
    places, scores = renderer_of(explanation.example.kind).listed(explanation, target)
    order = np.argsort(-(scores if receipt.signed else np.abs(scores)), kind="stable")
    least = _NEGLIGIBLE * float(np.abs(scores).max(initial=0.0))
    listed = [int(i) for i in order if abs(scores[i]) > least]
    positive = [i for i in listed if scores[i] > 0 or not receipt.signed]
    negative = [i for i in reversed(listed) if scores[i] < 0 and receipt.signed]
    return AnswerRow(
        explanation=explanation,
        method=receipt.method,
        caption=caption,
        target=target,
        probability=answered(explanation.prediction, target.index),
        signed=receipt.signed,
        same=not receipt.class_specific,
        strongest=_strongest_words(explanation, positive, places, scores),
        against=_strongest_words(explanation, negative, places, scores),
        stacked=stacked,
    )


def _strongest_words(
    explanation: Explanation, order: list[int], places: Sequence[Any], scores: Floats
) -> tuple[Word, ...]:
    peak, signed = float(np.abs(scores).max(initial=0.0)), explanation.provenance.signed
    words = []
    for i in order[:STRONGEST]:
        score, text = float(scores[i]), " ".join(explanation.example.show(places[i]).split())
        shown = shown_score(score, peak=peak, signed=signed)
        words.append(Word(text, score, shown, max(1, round(100 * abs(score) / peak))))
    return tuple(words)
