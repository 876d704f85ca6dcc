"""Explanations in the terminal: coloured where there is colour, complete without it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.style import Style
from rich.text import Text

from whylight.core.evidence import SPANS
from whylight.core.explanation import Explanation
from whylight.core.inputs import Noun, common_noun
from whylight.core.printable import one_line
from whylight.explaining.console import Console
from whylight.report.cards import SAME, Card, Section, cards
from whylight.report.colours import STEPS, Palette, shades
from whylight.report.numbers import Decision
from whylight.report.renderers import Manner, renderer_of
from whylight.report.rows import AnswerRow, Word

LISTED = 48
"""Characters of an entry in the list of strongest words."""


def render(explanations: Sequence[Explanation], *, console: Console, evidence: int = SPANS) -> None:
    """Print explanations, those of the same text below each other, and a legend at the end.

    Args:
        explanations: What to show.
        console: Where to print; it decides which colours there are.
        evidence: How many evidence spans are listed for each label and method at most; 0 for none.
    """
    all_cards = cards(explanations, evidence=evidence)
    coloured = console.color_system is not None and not console.no_color
    for number, card in enumerate(all_cards, start=1):
        own = replace(card, manner=replace(card.manner, coloured=coloured))
        _print_card(own, console, place=f"{number}/{len(all_cards)}  " if len(all_cards) > 1 else "")
    rows = [row for card in all_cards for section in card.sections for row in section.rows]
    if rows:
        noun = common_noun([row.kind for row in rows])
        _print_line(console, _legend(rows, noun, coloured=coloured))


def card_heading(card: Card, *, place: str = "") -> Text:
    """Return what the model says of an input, on one line."""
    heading = Text().append(place, style="dim").append(f"{one_line(card.label)} {card.probability}", style="bold")
    if card.others:
        heading.append(f" and {card.others} more label{'s' if card.others > 1 else ''}")
    return heading.append(f"  {one_line(card.model)}", style="dim")


def _print_card(card: Card, console: Console, *, place: str) -> None:
    _print_line(console, card_heading(card, place=place))
    for note in card.notes:
        _print_line(console, Text(f"note: {one_line(note)}", style="dim"), indent=2)
    console.print()
    above = _above(card)
    for line in above:
        _print_line(console, line, indent=2)
    manner = replace(card.manner, once=bool(above))
    if above:
        console.print()
    for section in card.sections:
        if section.label is None and section.decisions:
            labels = ", ".join(f"{one_line(label)} ({_decision(one)})" for label, one in section.decisions)
            _print_line(console, Text(f"labels: {labels}", style="dim"), indent=2)
        for row in section.rows:
            _print_row(row, section, console, manner=manner)


def _above(card: Card) -> Sequence[Text]:
    """Return a long input that several labels share, to be printed once for all of them."""
    if len(card.sections) <= 1:
        return []
    first = card.sections[0].rows[0]
    return renderer_of(first.kind).above(first.explanation, card.manner)


def row_heading(row: AnswerRow, section: Section) -> Text:
    """Return which method answers, and which label it explains."""
    heading = Text(one_line(row.method), style="bold")
    if row.caption:
        heading.append(f" ({one_line(row.caption)})", style="not bold dim")
    label = one_line(section.label or "") + (f" - {one_line(section.description)}" if section.description else "")
    about = SAME if section.label is None else f"why {label} ({_chance(section)})?"
    heading.append(f": {about}", style="not bold")
    if row.same and section.label is not None:
        heading.append(f" [{SAME}]", style="not bold dim")
    return heading


def _print_row(row: AnswerRow, section: Section, console: Console, *, manner: Manner) -> None:
    _print_line(console, row_heading(row, section), indent=2)
    width = console.width - 4
    for line in (*row.lines(manner, width=width), *word_lists(row, width=width)):
        _print_line(console, line, indent=4)
    console.print()


def _chance(section: Section) -> str:
    """Say a label's probability: in percent, or beside the threshold that it is held against."""
    own = section.decisions[0][1]
    return _decision(own) if own.threshold else section.probability


def _decision(one: Decision) -> str:
    return f"{one.called} {one.probability}" + (f", threshold {one.threshold}" if one.threshold else "")


def word_lists(row: AnswerRow, *, width: int) -> list[Text]:
    """Say in words what the colours say: on one line if it fits, else on one line a side."""
    if not (row.strongest or row.against):
        return [Text("every score is 0", style="dim")]
    sides = (("for", row.strongest), ("against", row.against)) if row.signed else (("importance", row.strongest),)
    lines = [
        Text(f"{name}: ", style="bold").append(_entries(words), style="not bold") for name, words in sides if words
    ]
    joined = Text(" | ").join(lines)
    return [joined] if joined.cell_len <= width else lines


def _entries(words: Iterable[Word]) -> str:
    return ", ".join(f"{word_entry(word.text)} {word.shown}" for word in words)


def word_entry(text: str, *, longest: int = LISTED) -> str:
    """Shorten a long entry, and put a bare punctuation mark in quotes: it stands between punctuation."""
    line = one_line(text)
    if not any(character.isalnum() for character in line):
        line = f"'{line}'"
    return line if len(line) <= longest else line[: longest - 1] + "\u2026"


def _legend(rows: Sequence[AnswerRow], noun: Noun, *, coloured: bool) -> Text:
    signed, unsigned = any(row.signed for row in rows), any(not row.signed for row in rows)
    entries: list[tuple[Palette, str]] = [("for", "speaks for the label"), ("against", "speaks against it")] * signed
    entries += [("importance", "strength without a sign")] * unsigned
    legend = Text("legend:", style="dim")
    for number, (scale, meaning) in enumerate(entries):
        legend.append("; " if number else " ")
        for shade in shades(scale, scheme="terminal")[1:STEPS:2] if coloured else []:
            legend.append(" ", style=Style(bgcolor=shade.background, dim=False))
        legend.append(f"{' ' * coloured}{scale} = {meaning}")
    return legend.append(f"; full colour = strongest {noun.feature} of its row" if coloured else "")


def _print_line(console: Console, text: Text, *, indent: int = 0) -> None:
    """Print a text wrapped and indented, without the trailing spaces that a padded block would have."""
    for line in text.wrap(console, max(20, console.width - indent), overflow="fold"):
        line.rstrip()
        console.print(Text(" " * indent) + line, no_wrap=True, overflow="ignore", crop=False)
