"""What a report shows, before it is known how: one card a text, in it sections, rows and coloured pieces of text."""

import json
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.evidence import SPANS
from whylight.core.explanation import Explanation
from whylight.core.labels import Target
from whylight.core.text import Span, Text, text_of
from whylight.report.colours import steps
from whylight.report.drawn import drawn_targets, left_out
from whylight.report.evidence import Decision, Ranking, decision, ranking, shown_score
from whylight.report.layers import Picture, pictures, stacks

STRONGEST = 5
"""How many words are listed on each side."""
GLANCE = 40
"""A text of up to so many words is taken in at a glance: its evidence needs no context."""
SAME = "same for every label"
_NEGLIGIBLE = 0.005
"""Share of the row's largest magnitude that a word needs in order to be listed; below it would be shown as 0."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text: a feature, or what stands between two features.

    Attributes:
        text: The characters.
        step: Shade step, -10 to 10.
        scores: Scores of the features here; empty between features, several where features share characters.
    """

    text: str
    step: int = 0
    scores: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Word:
    """An entry in the list of strongest words: its text, score, score as shown, and percent of the row's largest."""

    text: str
    score: float
    shown: str
    percent: int


@dataclass(frozen=True, slots=True)
class Row:
    """One method's answer for one target.

    Attributes:
        method: Name of the method.
        caption: What tells this row from another one of the same method, or "".
        target: The label explained.
        probability: Its probability as shown.
        signed: Whether the row speaks for and against.
        same: Whether the row holds for every label alike.
        parts: The pieces of each part of the example, in reading order.
        strongest: Words that speak for the label, or the most important ones.
        against: Words that speak against the label.
        evidence: The spans that carry the decision, or None where they are switched off.
        stacked: Whether it is one layer of a picture.
    """

    method: str
    caption: str
    target: Target
    probability: str
    signed: bool
    same: bool
    parts: tuple[tuple[Piece, ...], ...]
    strongest: tuple[Word, ...]
    against: tuple[Word, ...]
    evidence: Ranking | None
    stacked: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """The rows that explain one label; `label` is None for rows that hold for every label alike.

    Attributes:
        label: The label.
        probability: Its probability in percent.
        predicted: Whether the model predicts it.
        rows: The rows.
        decisions: Probability and threshold of the label; of rows for all, of labels that have no section of their own.
        pictures: The rows that are layers of one method, put together.
    """

    label: str | None
    probability: str
    predicted: bool
    rows: tuple[Row, ...]
    decisions: tuple[tuple[str, Decision], ...]
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """How one explanation came about, as names and values to show."""

    method: str
    caption: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Card:
    """Everything about one text under one model; `words` and `labels` are counts, `others` of labels also predicted."""

    example: Text
    model: str
    label: str
    probability: str
    percent: float
    sections: tuple[Section, ...]
    notes: tuple[str, ...]
    receipts: tuple[Receipt, ...]
    words: int
    labels: int
    others: int


def cards(explanations: Sequence[Explanation], *, evidence: int = SPANS) -> list[Card]:
    """Gather the explanations of the same text, model and prediction, in order of first appearance.

    Args:
        explanations: What to show.
        evidence: How many evidence spans a row has at most; 0 for none.
    """
    groups: dict[Hashable, list[Explanation]] = {}
    for one in explanations:
        groups.setdefault((one.example, one.provenance.model, one.prediction), []).append(one)
    return [_card(group, evidence) for group in groups.values()]


def percentage(probability: float) -> str:
    """Show a probability; what is not quite 0 or 1 is not rounded to it."""
    if 0 < probability < 0.001:  # noqa: PLR2004  the smallest share that one decimal can show
        return "<0.1%"
    if 0.999 < probability < 1:  # noqa: PLR2004  likewise
        return ">99.9%"
    return f"{probability:.1%}"


def exact_score(score: float, *, signed: bool) -> str:
    """Show a score with six digits."""
    return f"{score:+.6g}" if signed else f"{score:.6g}"


def _card(group: list[Explanation], evidence: int) -> Card:
    first, captions = group[0], _captions(group)
    prediction = first.prediction
    return Card(
        example=text_of(first.example),
        model=first.provenance.model,
        label=prediction.label,
        probability=percentage(prediction.probability),
        percent=round(100 * prediction.probability, 1),
        sections=tuple(_sections(group, captions, evidence)),
        notes=(*_notes(group, captions), *left_out(group)),
        receipts=tuple(_receipt(one, caption) for one, caption in zip(group, captions, strict=True)),
        words=max(len(first.spans), sum(len(part.split()) for part in text_of(first.example).parts)),
        labels=len({target for one in group for target in one.targets}),
        others=max(0, len(prediction.predicted) - 1),
    )


def _sections(group: list[Explanation], captions: list[str], evidence: int) -> list[Section]:
    """Put the methods of each label below each other; with one label alone, the class-agnostic ones join them."""
    targets = drawn_targets(group)
    alone, answer = len(targets) == 1, group[0].prediction
    pairs, stacked = list(zip(group, captions, strict=True)), {one for stack in stacks(group) for one in stack}
    decisions = {target: decision(answer.probabilities[target.index], answer.threshold) for target in targets}
    sections = []
    for target in targets:
        asked = [pair for pair in pairs if target in pair[0].targets and (alone or pair[0].provenance.class_specific)]
        if asked:
            rows = tuple(_row(one, target, caption, evidence, stacked) for one, caption in asked)
            own, drawn = (target.label, decisions.pop(target)), pictures([one for one, _ in asked], target)
            predicted = target.index in answer.predicted
            sections.append(Section(target.label, rows[0].probability, predicted, rows, (own,), drawn))
    agnostic = [pair for pair in pairs if not pair[0].provenance.class_specific]
    if agnostic and not alone:
        rows = tuple(_row(one, one.targets[0], caption, evidence, stacked) for one, caption in agnostic)
        left = tuple((target.label, one) for target, one in decisions.items())
        drawn = pictures([one for one, _ in agnostic], targets[0])
        sections.append(Section(None, "", predicted=False, rows=rows, decisions=left, pictures=drawn))
    return sections


def _row(
    explanation: Explanation, target: Target, caption: str, evidence: int, stacked: Collection[Explanation]
) -> Row:
    receipt, scores = explanation.provenance, explanation.row(target)
    order = np.argsort(-(scores if receipt.signed else np.abs(scores)), kind="stable")
    least = _NEGLIGIBLE * float(np.abs(scores).max(initial=0.0))
    listed = [int(i) for i in order if abs(scores[i]) > least]
    positive = [i for i in listed if scores[i] > 0 or not receipt.signed]
    negative = [i for i in reversed(listed) if scores[i] < 0 and receipt.signed]
    return Row(
        method=receipt.method,
        caption=caption,
        target=target,
        probability=percentage(explanation.prediction.probabilities[target.index]),
        signed=receipt.signed,
        same=not receipt.class_specific,
        parts=tuple(
            tuple(_pieces(explanation, scores, part)) for part in range(len(text_of(explanation.example).parts))
        ),
        strongest=_words(explanation, scores, positive),
        against=_words(explanation, scores, negative),
        evidence=ranking(explanation, target, spans=evidence),
        stacked=explanation in stacked,
    )


def _words(explanation: Explanation, scores: Floats, order: list[int]) -> tuple[Word, ...]:
    peak, signed = float(np.abs(scores).max(initial=0.0)), explanation.provenance.signed
    words = []
    for i in order[:STRONGEST]:
        score, text = float(scores[i]), " ".join(explanation.example.show(explanation.spans[i]).split())
        shown = shown_score(score, peak=peak, signed=signed)
        words.append(Word(text, score, shown, max(1, round(100 * abs(score) / peak))))
    return tuple(words)


def _pieces(explanation: Explanation, scores: Floats, part: int) -> list[Piece]:
    """Cut one part of the example at its features, leaving out no character."""
    text, cursor = text_of(explanation.example).parts[part], 0
    shades = steps(scores, signed=explanation.provenance.signed)
    pieces = []
    for cluster in _clusters(explanation.spans, part):
        start = explanation.spans[cluster[0]].start
        end = max(explanation.spans[i].end for i in cluster)
        if start > cursor:
            pieces.append(Piece(text[cursor:start]))
        step = max((shades[i] for i in cluster), key=abs)
        pieces.append(Piece(text[start:end], step, tuple(float(scores[i]) for i in cluster)))
        cursor = end
    return [*pieces, Piece(text[cursor:])] if cursor < len(text) else pieces


def _clusters(spans: Sequence[Span], part: int) -> list[list[int]]:
    """Return the features of a part in reading order; those that share characters stand together."""
    inside = sorted((i for i, span in enumerate(spans) if span.part == part), key=lambda i: spans[i])
    clusters: list[list[int]] = []
    end = -1
    for i in inside:
        if clusters and spans[i].start < end:
            clusters[-1].append(i)
        else:
            clusters.append([i])
        end = max(end, spans[i].end)
    return clusters


def _captions(group: list[Explanation]) -> list[str]:
    """Say for each explanation what tells it from the others of the same method."""
    facts = [_settings(one) for one in group]
    captions = []
    for one, own in zip(group, facts, strict=True):
        twins = [f for other, f in zip(group, facts, strict=True) if other.provenance.method == one.provenance.method]
        different = [name for name in own if any(twin.get(name) != own[name] for twin in twins)]
        captions.append(", ".join(f"{name} {own[name]}" for name in different))
    return captions


def _settings(explanation: Explanation) -> dict[str, str]:
    """Return what the explanation was asked to be, as names and values to show."""
    receipt = explanation.provenance
    asked = {**receipt.settings, "unit": receipt.unit, "remover": receipt.remover or "none", "score": receipt.score}
    return {n: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for n, v in asked.items()}


def _notes(group: list[Explanation], captions: list[str]) -> list[str]:
    """Return every note once, with the methods that it is about unless it is about all."""
    about: dict[str, list[str]] = {}
    for one, caption in zip(group, captions, strict=True):
        name = f"{one.provenance.method} ({caption})" if caption else one.provenance.method
        for note in one.provenance.notes:
            about.setdefault(note, []).append(name)
    return [n if len(names) == len(group) else f"{', '.join(names)}: {n}" for n, names in about.items()]


def _receipt(explanation: Explanation, caption: str) -> Receipt:
    receipt = explanation.provenance
    facts = [("model", receipt.model), *_settings(explanation).items()]
    facts += [("forward passes", f"{receipt.forward_passes:,}"), ("backward passes", f"{receipt.backward_passes:,}")]
    facts.append(("seconds", f"{receipt.seconds:.3g}"))
    if receipt.completeness_gap is not None:
        names = [f" ({target.label})" for target in explanation.targets] if len(receipt.completeness_gap) > 1 else [""]
        facts += [(f"completeness gap{n}", f"{g:.2e}") for n, g in zip(names, receipt.completeness_gap, strict=True)]
    facts += [("note", note) for note in receipt.notes]
    return Receipt(receipt.method, caption, tuple(facts))
