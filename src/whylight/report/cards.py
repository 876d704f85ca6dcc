"""What a report shows, before it is known how: one card per input, in it sections and rows."""

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from whylight.core.evidence import SPANS, check_evidence
from whylight.core.explanation import Explanation
from whylight.core.identity import digest
from whylight.core.inputs import Noun, noun_of
from whylight.report.drawn import asked_targets, drawn_targets, left_out
from whylight.report.label_index import LabelIndex, label_index, whole_input
from whylight.report.numbers import Decision, answered, decided
from whylight.report.renderers import Manner, renderer_of
from whylight.report.rows import AnswerRow, answer_row
from whylight.report.stacks import pictures, stacked

FOLDED = 300
"""Length above which an input that is shown several times is folded below its evidence."""
FEW_LABELS, SHORT = 4, 100
"""Labels, and length, above which an input is shown once for all of them, below an index of the labels."""
SAME = "same for every label"


@dataclass(frozen=True, slots=True)
class Section:
    """The rows that explain one label; `label` is None for rows that hold for every label alike.

    Attributes:
        label: The label.
        description: What it stands for, in words, or "".
        probability: Its probability in percent.
        predicted: Whether the model predicts it.
        rows: The rows.
        decisions: Probability and threshold of the label; of rows for all, of labels that have no section of their own.
        pictures: The rows that are layers of one method, put together.
    """

    label: str | None
    description: str
    probability: str
    predicted: bool
    rows: tuple[AnswerRow, ...]
    decisions: tuple[tuple[str, Decision], ...]
    pictures: tuple[Markup, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """How one explanation came about, as names and values to show."""

    method: str
    caption: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Card:
    """Everything about one input under one model; `others` counts labels that are also predicted."""

    noun: Noun
    model: str
    label: str
    description: str
    probability: str
    percent: float | None
    sections: tuple[Section, ...]
    notes: tuple[str, ...]
    receipts: tuple[Receipt, ...]
    manner: Manner
    others: int

    def whole(self) -> Markup:
        """Return the input once for all labels, for a page."""
        return whole_input(self.sections, self.manner)

    def index(self) -> LabelIndex:
        """Return the labels, what the model says of each, and how much evidence there is."""
        return label_index(self.sections)


def cards(explanations: Sequence[Explanation], *, evidence: int = SPANS) -> list[Card]:
    """Gather the explanations of the same input, model and prediction, in order of first appearance.

    Args:
        explanations: What to show.
        evidence: How many evidence spans a row has at most; 0 for none.
    """
    check_evidence(spans=evidence)
    groups: dict[Hashable, list[Explanation]] = {}
    for one in explanations:
        groups.setdefault((one.example, one.provenance.model, one.prediction), []).append(one)
    return [_card(group, evidence) for group in groups.values()]


def _card(group: list[Explanation], evidence: int) -> Card:
    first, captions, once = group[0], captions_of(group), _is_shown_once(group, evidence)
    prediction, sections = first.prediction, _sections(group, captions, once=once)
    described = {target.index: target.description or "" for target in asked_targets(group)}
    return Card(
        noun=noun_of(first.example.kind),
        model=first.provenance.model,
        label=prediction.label,
        description=described.get(prediction.index, ""),
        probability=answered(prediction, prediction.index),
        percent=None if prediction.probability is None else round(100 * prediction.probability, 1),
        sections=tuple(sections),
        notes=(*_notes(group, captions), *left_out(group, once=once)),
        receipts=tuple(_receipt(one, caption) for one, caption in zip(group, captions, strict=True)),
        manner=_manner(group, sections, evidence, once=once),
        others=max(0, len(prediction.predicted) - 1),
    )


def _is_shown_once(group: list[Explanation], evidence: int) -> bool:
    """Say whether an input has so many labels that it is shown once for all of them."""
    renderer, specific = renderer_of(group[0].example.kind), [one for one in group if one.provenance.class_specific]
    many = len(asked_targets(specific)) > FEW_LABELS and renderer.length(group[0]) > SHORT
    return many and evidence > 0 and renderer.whole is not None


def _manner(group: list[Explanation], sections: list[Section], evidence: int, *, once: bool) -> Manner:
    renderer = renderer_of(group[0].example.kind)
    length = renderer.length(group[0])
    rows = sum(not row.stacked for section in sections for row in section.rows)
    listed = evidence if renderer.evidence is not None else 0
    labels = len({target for one in group for target in one.targets})
    folded = length > FOLDED and rows > 1 and listed > 0
    first = group[0]
    anchor = f"t{digest([first.example.key, first.provenance.model])[:8]}"
    return Manner(listed, labels, length, folded=folded, once=once, anchor=anchor)


def _sections(group: list[Explanation], captions: list[str], *, once: bool) -> list[Section]:
    """Put the methods of each label below each other; with one label alone, the class-agnostic ones join them."""
    targets = drawn_targets(group, once=once)
    alone, answer = len(targets) == 1, group[0].prediction
    pairs, layers = list(zip(group, captions, strict=True)), stacked(group)
    decisions = {target: decided(answer, target.index) for target in targets}
    sections = []
    for target in targets:
        asked = [pair for pair in pairs if target in pair[0].targets and (alone or pair[0].provenance.class_specific)]
        if asked:
            rows = tuple(answer_row(one, target, caption=caption, stacked=one in layers) for one, caption in asked)
            own, drawn = (target.label, decisions.pop(target)), pictures([one for one, _ in asked], target)
            predicted = target.index in answer.predicted
            about = (target.label, target.description or "", rows[0].probability)
            sections.append(Section(*about, predicted, rows, (own,), drawn))
    agnostic = [pair for pair in pairs if not pair[0].provenance.class_specific]
    if agnostic and not alone:
        rows = tuple(  # what speaks for one label may speak against another: of all labels alike, nothing has a sign
            answer_row(replace(one, signs=None), one.targets[0], caption=caption, stacked=one in layers)
            for one, caption in agnostic
        )
        left = tuple((target.label, one) for target, one in decisions.items())
        drawn = pictures([one for one, _ in agnostic], targets[0])
        sections.append(Section(None, "", "", predicted=False, rows=rows, decisions=left, pictures=drawn))
    return sections


def captions_of(group: Sequence[Explanation]) -> list[str]:
    """Say for each explanation what tells it from the others of the same method."""
    return _captions(group, [one.provenance.method for one in group])


def variants_of(explanations: Sequence[Explanation]) -> list[str]:
    """Name each explanation by the settings that its method has in several ways on some input, be it another one."""
    return _captions(explanations, [(one.provenance.method, one.example) for one in explanations])


def _captions(explanations: Sequence[Explanation], twins: Sequence[Hashable]) -> list[str]:
    """Name explanations by the settings in which twins of their method differ; equal keys make twins.

    What names one names all of its method: a name that depended on who else is there would be several for one variant.
    """
    facts = [_settings(one) for one in explanations]
    first: dict[Hashable, dict[str, str]] = {}
    differing: dict[str, set[str]] = {}
    for one, own, key in zip(explanations, facts, twins, strict=True):
        other = first.setdefault(key, own)
        found = {name for name in (*own, *other) if own.get(name) != other.get(name)}
        differing.setdefault(one.provenance.method, set()).update(found)
    return [
        ", ".join(f"{name} {own[name]}" for name in own if name in differing[one.provenance.method])
        for one, own in zip(explanations, facts, strict=True)
    ]


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
    facts += [("sign of evidence", said) for said in _sign_facts(explanation)]
    facts += [("note", note) for note in receipt.notes]
    return Receipt(receipt.method, caption, tuple(facts))


def _sign_facts(explanation: Explanation) -> list[str]:
    """Say where the sign of evidence comes from, and what that took, if the scores have none."""
    signs = explanation.signs
    if explanation.provenance.signed:
        return []
    if signs is None:
        return ["none"]
    took = f"{signs.forward_passes:,} forward, {signs.backward_passes:,} backward, {signs.seconds:.3g} s"
    return [f"{signs.method}, asked once: {took}"]
