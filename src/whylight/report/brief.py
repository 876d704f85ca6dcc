"""Explanations in a few lines, as `repr` shows them: label, probability, method, and the words for and against."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from rich.text import Text

from whylight.core.explanation import Explanation
from whylight.core.inputs import common_noun
from whylight.core.printable import one_line
from whylight.report.cards import Card, Section, cards
from whylight.report.renderers import renderer_of
from whylight.report.rows import AnswerRow
from whylight.report.sheets import MOST_LINES, count_of, plain_console, printed
from whylight.report.shortening import shortened
from whylight.report.terminal import card_heading, row_heading, word_entry, word_lists

NAMED = 6
"""Methods that are named at the head of a list."""
NOTES = 2
"""Notes of an input that are shown."""
APART = 4
"""Explanations up to which each has lines of its own; of more, one line each."""
WIDEST = 40
"""Columns of a label."""
FEW = 3
"""Words on each side of such a line."""
MORE = '\u2026 there is more: .to_frame() and .save("x.html") have everything'


def brief_text(explanation: Explanation) -> str:
    """Return one explanation in a few lines."""
    return _bounded(_card_lines(cards([explanation])[0], close=len(explanation.targets) > APART), more=False)


def brief_list(explanations: Sequence[Explanation]) -> str:
    """Return several explanations in a few lines, those of one input together; of very many, the first."""
    lines = _cut_short_lines([Text(one_line(list_heading(explanations)))])
    rows = accumulate(len(one.targets) for one in explanations)
    shown = explanations[: max(1, sum(total <= MOST_LINES for total in rows))]  # each label takes a line at least
    for card in cards(shown):
        lines += _card_lines(card, close=len(explanations) > APART)
    return _bounded(lines, more=len(shown) < len(explanations))


def list_heading(explanations: Sequence[Explanation]) -> str:
    """Say how many explanations there are, of what, and by which methods."""
    noun = common_noun(one.example.kind for one in explanations)
    inputs = len({one.example for one in explanations})
    methods = list(dict.fromkeys(one.provenance.method for one in explanations))
    named = ", ".join(methods[:NAMED]) + (f" and {len(methods) - NAMED} more" if len(methods) > NAMED else "")
    of = f" of {noun.count(inputs)} by {named}" if explanations else ""
    return f"{count_of(len(explanations), 'explanation')}{of}"


def _card_lines(card: Card, *, close: bool) -> list[str]:
    """Return the lines of one input."""
    width = plain_console().width
    first = next(row.explanation for section in card.sections for row in section.rows)
    lines = [
        card_heading(replace(card, label=shortened(card.label, WIDEST))),
        Text(f"  {one_line(renderer_of(first.example.kind).brief(first))}"),
    ]
    lines += [Text(f"  note: {one_line(note)}") for note in card.notes[:NOTES]]
    alone = len(card.sections) == 1
    for whole in card.sections:
        section = replace(whole, label=None if whole.label is None else shortened(whole.label, WIDEST))
        for row in section.rows:
            lines += [_one_line(row, section, alone=alone)] if close else _own_lines(row, section, width)
    return _cut_short_lines(lines)


def _cut_short_lines(lines: Sequence[Text]) -> list[str]:
    """Return lines as a terminal shows them, each cut where it is too long."""
    console = plain_console()
    for line in lines:
        line.truncate(console.width, overflow="ellipsis")
        console.print(line, no_wrap=True, overflow="ignore", crop=False)
    return printed(console).split("\n")


def _own_lines(row: AnswerRow, section: Section, width: int) -> list[Text]:
    return [Text("  ") + row_heading(row, section), *(Text("    ") + line for line in word_lists(row, width=width - 4))]


def _one_line(row: AnswerRow, section: Section, *, alone: bool) -> Text:
    """Return the method, the label if there are several, and a few words on each side."""
    caption = f" ({one_line(row.caption)})" if row.caption else ""
    about = "" if alone or section.label is None else f", {one_line(section.label)} {section.probability}"
    sides = [
        name + ", ".join(f"{word_entry(word.text)} {word.shown}" for word in words[:FEW])
        for name, words in (("", row.strongest), ("against ", row.against))
        if words
    ]
    return Text(f"  {one_line(row.method)}{caption}{about}: {' | '.join(sides) or 'every score is 0'}")


def _bounded(lines: Sequence[str], *, more: bool) -> str:
    """Return as many lines as may be shown, and say that there are more."""
    whole = len(lines) <= MOST_LINES - more
    return "\n".join(lines if whole and not more else [*lines[: MOST_LINES - 1], MORE])
