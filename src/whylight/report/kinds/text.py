"""Texts: coloured words, the evidence in its surroundings, and layers above the words."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from rich import text as rich_text

from whylight.core.evidence import evidence, evidence_as_dicts
from whylight.core.explanation import Explanation
from whylight.core.labels import Target
from whylight.core.printable import clean
from whylight.core.text import Text, text_of
from whylight.report.citations import Citation, cited_pieces
from whylight.report.evidence import Ranking, ranking
from whylight.report.kinds._text_lines import WHOLE, evidence_lines, excerpt, paragraph
from whylight.report.layers import picture
from whylight.report.pieces import few_pieces, pieces_of
from whylight.report.renderers import Manner, Renderer, register_renderer
from whylight.report.rows import AnswerRow
from whylight.report.templating import macro

GLANCE = 40
"""A text of up to so many words is taken in at a glance: its evidence needs no context."""


def text_html(row: AnswerRow, manner: Manner) -> Markup:
    """Return a row on a page: evidence, coloured text, strongest words; no text, where one stands above all rows."""
    found, names = _evidence_of_row(row, manner), _names(row.explanation)
    if manner.once:
        return macro("text.html", "listed", row, found, names, manner.anchor)
    parts = pieces_of(row.explanation, row.target)
    return macro("text.html", "row", row, parts, found, names, manner.length <= GLANCE, manner.folded)


def text_whole(rows: Sequence[tuple[int, AnswerRow]], manner: Manner) -> Markup:
    """Return a text once for many labels, with the evidence of all of them marked."""
    rankings = [(number, _evidence_of_row(row, manner)) for number, row in rows]
    cited = [Citation(one.part, one.start, one.end, n) for n, found in rankings if found for one in found.passages]
    one = rows[0][1].explanation
    return macro("text.html", "cited", cited_pieces(text_of(one.example), cited), _names(one), manner.anchor)


def text_tile(row: AnswerRow, brief: bool) -> Markup:  # noqa: FBT001  as every renderer
    """Return the coloured text alone."""
    return macro("text.html", "tile", few_pieces(row.explanation, row.target), row.signed, brief)


def text_lines(row: AnswerRow, manner: Manner, width: int) -> list[rich_text.Text]:
    """Return a row in a terminal: coloured text, and evidence where the text is long or there are several labels."""
    one, made = row.explanation, []
    names = _names(one)
    for number, pieces in enumerate(() if manner.once else pieces_of(one, row.target)):
        if names:
            made.append(rich_text.Text(clean(names[number]), style="dim"))
        made.append(paragraph(excerpt(pieces), signed=row.signed))
    found = _evidence_of_row(row, manner)
    if found is not None and (manner.length > GLANCE or manner.labels > 1):
        made += evidence_lines(found, names=names, width=width)
    return made


def text_above(explanation: Explanation, manner: Manner) -> list[rich_text.Text]:
    """Return a long text for all of its labels, or only its length if that is more than one reads in a terminal."""
    if manner.length <= GLANCE or (manner.length > WHOLE and not manner.evidence):
        return []
    if manner.length > WHOLE:
        said = f"{manner.length:,} words; below is what carries each label, and --format html shows all of the text"
        return [rich_text.Text(said, style="dim")]
    parts = [rich_text.Text(clean(part).rstrip()) for part in text_of(explanation.example).parts]
    if len(parts) == 1:
        return parts
    names = (rich_text.Text(clean(name), style="dim") for name in _names(explanation))
    return [line for pair in zip(names, parts, strict=True) for line in pair]


def text_brief(explanation: Explanation) -> str:
    """Return the text in quotation marks; of a pair, both."""
    return " / ".join(f'"{part}"' for part in text_of(explanation.example).texts)


def text_layers(stack: Sequence[Explanation], target: Target) -> Markup:
    """Return the layers of a method above the words."""
    return macro("text.html", "layers", picture(stack, target), _names(stack[0]))


def text_evidence(explanation: Explanation, target: Target, spans: int) -> list[dict[str, Any]]:
    """Return the evidence for a target as JSON-ready objects."""
    return evidence_as_dicts(explanation, evidence(explanation, target, spans=spans))


def _evidence_of_row(row: AnswerRow, manner: Manner) -> Ranking | None:
    return ranking(row.explanation, row.target, spans=manner.evidence)


def _names(explanation: Explanation) -> tuple[str, ...]:
    """Return what the parts of a text are called, or nothing where it is the only one."""
    names = text_of(explanation.example).part_names
    return names if len(names) > 1 else ()


def word_count(explanation: Explanation) -> int:
    """Return how many words there are to read, whatever a feature is."""
    return max(len(explanation.places), sum(len(part.split()) for part in text_of(explanation.example).parts))


TEXTS = Renderer(
    length=word_count,
    html=text_html,
    tile=text_tile,
    style="",  # that of every page
    lines=text_lines,
    above=text_above,
    brief=text_brief,
    whole=text_whole,
    layers=text_layers,
    evidence=text_evidence,
)
register_renderer(Text.kind, TEXTS)
