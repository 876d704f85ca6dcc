"""Very many labels of one input on a page: an index of them, and the input once, which evidence points into."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from whylight.report.numbers import Decision
from whylight.report.renderers import Manner, renderer_of
from whylight.report.rows import AnswerRow
from whylight.report.templating import markup_of

if TYPE_CHECKING:
    from whylight.report.cards import Section


@dataclass(frozen=True, slots=True)
class IndexLine:
    """A label: its number among those of a page, what it is, what the model says of it, and spans by each method."""

    number: int
    label: str
    description: str
    predicted: bool
    decision: Decision
    spans: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LabelIndex:
    """The labels of a page, and the methods whose spans are counted."""

    methods: tuple[str, ...]
    lines: tuple[IndexLine, ...]

    @property
    def has_thresholds(self) -> bool:
        """Whether labels are held against a threshold."""
        return any(line.decision.threshold for line in self.lines)


def label_index(sections: Sequence["Section"]) -> LabelIndex:
    """Return the labels of sections, in their order, which is that of their numbers."""
    lines = [
        IndexLine(
            number=number,
            label=section.label or "",
            description=section.description,
            predicted=section.predicted,
            decision=section.decisions[0][1],
            spans=tuple(_span_count(row) for row in _drawn_rows(section)),
        )
        for number, section in _numbered(sections)
    ]
    first = next((section for _, section in _numbered(sections)), None)
    methods = () if first is None else tuple(_named(row) for row in _drawn_rows(first))
    return LabelIndex(methods, tuple(lines))


def whole_input(sections: Sequence["Section"], manner: Manner) -> Markup:
    """Return an input with the evidence of all labels marked in it."""
    rows = [(number, row) for number, section in _numbered(sections) for row in _drawn_rows(section)]
    draw = renderer_of(rows[0][1].kind).whole if rows else None
    return Markup("") if draw is None else markup_of(draw(rows, manner))


def _numbered(sections: Sequence["Section"]) -> list[tuple[int, "Section"]]:
    """Number the sections that are about a label, from 1 on."""
    return list(enumerate((section for section in sections if section.label is not None), start=1))


def _drawn_rows(section: "Section") -> list[AnswerRow]:
    return [row for row in section.rows if not row.stacked]


def _named(row: AnswerRow) -> str:
    return f"{row.method} ({row.caption})" if row.caption else row.method


def _span_count(row: AnswerRow) -> int:
    tell = renderer_of(row.kind).evidence
    return 0 if tell is None else len(tell(row.explanation, row.target, len(row.explanation.places)))
