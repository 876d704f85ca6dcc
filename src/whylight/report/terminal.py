"""Explanations in the terminal: coloured where there is colour, complete without it."""

import re
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.style import Style
from rich.text import Text

from whylight.core.explanation import Explanation
from whylight.report.cards import SAME, Card, Piece, Row, Section, Word, cards
from whylight.report.colours import STEPS, Scale, scale_of, shades

WHOLE = 400
"""A text of up to so many words is shown whole."""
AROUND = 10
"""Of a longer one, the surroundings of so many of its strongest words."""
CONTEXT = 8
"""Words on each side that are its surroundings."""
LISTED = 48
"""Characters of an entry in the list of strongest words."""
FAINTEST = 2
"""Smallest step that is coloured: a terminal cannot show shades as faint as a page can."""
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def render(explanations: Sequence[Explanation], *, console: Console) -> None:
    """Print explanations, those of the same text below each other, and a legend at the end.

    Args:
        explanations: What to show.
        console: Where to print; it decides which colours there are.
    """
    all_cards = cards(explanations)
    for number, card in enumerate(all_cards, start=1):
        _card(card, console, place=f"{number}/{len(all_cards)}  " if len(all_cards) > 1 else "")
    rows = [row for card in all_cards for section in card.sections for row in section.rows]
    if rows:
        coloured = console.color_system is not None and not console.no_color
        _print(console, _legend(rows, coloured=coloured))


def clean(text: str) -> str:
    """Return a text that cannot steer the terminal: line ends are unified, other control characters replaced."""
    return _CONTROLS.sub("\ufffd", _LINE_ENDS.sub("\n", text))


def _card(card: Card, console: Console, *, place: str) -> None:
    heading = Text().append(place, style="dim").append(f"{_line(card.label)} {card.probability}", style="bold")
    _print(console, heading.append(f"  {_line(card.model)}", style="dim"))
    for note in card.notes:
        _print(console, Text(f"note: {_line(note)}", style="dim"), indent=2)
    console.print()
    for section in card.sections:
        for row in section.rows:
            _row(row, section, console)


def _row(row: Row, section: Section, console: Console) -> None:
    heading = Text(_line(row.method), style="bold")
    if row.caption:
        heading.append(f" ({_line(row.caption)})", style="not bold dim")
    about = SAME if section.label is None else f"why {_line(section.label)} ({section.probability})?"
    heading.append(f": {about}", style="not bold")
    if row.same and section.label is not None:
        heading.append(f" [{SAME}]", style="not bold dim")
    _print(console, heading, indent=2)
    for number, pieces in enumerate(row.parts):
        if len(row.parts) > 1:
            _print(console, Text("first text" if number == 0 else "second text", style="dim"), indent=4)
        _print(console, _paragraph(_excerpt(pieces), signed=row.signed), indent=4)
    for line in _lists(row, width=console.width - 4):
        _print(console, line, indent=4)
    console.print()


def _paragraph(pieces: Iterable[Piece], *, signed: bool) -> Text:
    text = Text()
    for piece in pieces:
        text.append(clean(piece.text), style=_style(piece.step, signed=signed))
    return text


def _style(step: int, *, signed: bool) -> Style:
    if abs(step) < FAINTEST:
        return Style.null()
    shade = shades(scale_of(step, signed=signed), scheme="terminal")[abs(step) - 1]
    return Style(color=shade.text, bgcolor=shade.background)


def _excerpt(pieces: Sequence[Piece]) -> list[Piece]:
    """Return all pieces of a text of ordinary length, else those around its strongest words."""
    features = [i for i, piece in enumerate(pieces) if piece.scores]
    if max(len(features), sum(len(piece.text.split()) for piece in pieces)) <= WHOLE:
        return list(pieces)
    strongest = sorted(range(len(features)), key=lambda n: -max(abs(s) for s in pieces[features[n]].scores))[:AROUND]
    # Where a feature is a sentence, it is its own context.
    reach = CONTEXT if len(features) > WHOLE else 0
    kept = sorted({near for n in strongest for near in range(max(0, n - reach), min(len(features), n + reach + 1))})
    shown: list[Piece] = []
    end = 0
    for n in kept:
        place = features[n]
        if shown and features[n - 1] + 1 == end:
            shown += pieces[end:place]
        elif place > 0:
            shown.append(Piece(" \u2026 " if shown else "\u2026 "))
        shown.append(pieces[place])
        end = place + 1
    return [*shown, Piece(" \u2026")] if end < len(pieces) else shown


def _lists(row: Row, *, width: int) -> list[Text]:
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
    return ", ".join(f"{_entry(word.text)} {word.shown}" for word in words)


def _entry(text: str) -> str:
    """Shorten a long entry, and put a bare punctuation mark in quotes: it stands between punctuation."""
    line = _line(text)
    if not any(character.isalnum() for character in line):
        line = f"'{line}'"
    return line if len(line) <= LISTED else line[: LISTED - 1] + "\u2026"


def _legend(rows: Sequence[Row], *, coloured: bool) -> Text:
    signed, unsigned = any(row.signed for row in rows), any(not row.signed for row in rows)
    entries: list[tuple[Scale, str]] = [("for", "speaks for the label"), ("against", "speaks against it")] * signed
    entries += [("importance", "strength without a sign")] * unsigned
    legend = Text("legend:", style="dim")
    for number, (scale, meaning) in enumerate(entries):
        legend.append("; " if number else " ")
        for shade in shades(scale, scheme="terminal")[1:STEPS:2] if coloured else []:
            legend.append(" ", style=Style(bgcolor=shade.background, dim=False))
        legend.append(f"{' ' * coloured}{scale} = {meaning}")
    return legend.append("; full colour = strongest word of its row" if coloured else "")


def _print(console: Console, text: Text, *, indent: int = 0) -> None:
    """Print a text wrapped and indented, without the trailing spaces that a padded block would have."""
    for line in text.wrap(console, max(20, console.width - indent), overflow="fold"):
        line.rstrip()
        console.print(Text(" " * indent) + line, no_wrap=True, overflow="ignore", crop=False)


def _line(text: str) -> str:
    return " ".join(clean(text).split())
