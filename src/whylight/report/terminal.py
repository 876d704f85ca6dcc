"""Explanations in the terminal: coloured where there is colour, complete without it."""

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from whylight.core.evidence import SPANS
from whylight.core.explanation import Explanation
from whylight.core.printable import clean, one_line
from whylight.explaining.console import Console
from whylight.report.cards import GLANCE, SAME, Card, Piece, Row, Section, Word, cards
from whylight.report.colours import STEPS, Scale, scale_of, shades
from whylight.report.evidence import ELLIPSIS, Decision, Passage, Ranking

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


def render(explanations: Sequence[Explanation], *, console: Console, evidence: int = SPANS) -> None:
    """Print explanations, those of the same text below each other, and a legend at the end.

    Args:
        explanations: What to show.
        console: Where to print; it decides which colours there are.
        evidence: How many evidence spans are listed for each label and method at most; 0 for none.
    """
    all_cards = cards(explanations, evidence=evidence)
    for number, card in enumerate(all_cards, start=1):
        _card(card, console, place=f"{number}/{len(all_cards)}  " if len(all_cards) > 1 else "")
    rows = [row for card in all_cards for section in card.sections for row in section.rows]
    if rows:
        coloured = console.color_system is not None and not console.no_color
        _print(console, _legend(rows, coloured=coloured))


def _card(card: Card, console: Console, *, place: str) -> None:
    heading = Text().append(place, style="dim").append(f"{one_line(card.label)} {card.probability}", style="bold")
    if card.others:
        heading.append(f" and {card.others} more label{'s' if card.others > 1 else ''}")
    _print(console, heading.append(f"  {one_line(card.model)}", style="dim"))
    for note in card.notes:
        _print(console, Text(f"note: {one_line(note)}", style="dim"), indent=2)
    console.print()
    listed = card.words > GLANCE or card.labels > 1
    for section in card.sections:
        if section.label is None and section.decisions:
            labels = ", ".join(f"{one_line(label)} ({_decision(one)})" for label, one in section.decisions)
            _print(console, Text(f"labels: {labels}", style="dim"), indent=2)
        for row in section.rows:
            _row(row, section, console, listed=listed)


def _row(row: Row, section: Section, console: Console, *, listed: bool) -> None:
    heading = Text(one_line(row.method), style="bold")
    if row.caption:
        heading.append(f" ({one_line(row.caption)})", style="not bold dim")
    about = SAME if section.label is None else f"why {one_line(section.label)} ({_chance(section)})?"
    heading.append(f": {about}", style="not bold")
    if row.same and section.label is not None:
        heading.append(f" [{SAME}]", style="not bold dim")
    _print(console, heading, indent=2)
    for number, pieces in enumerate(row.parts):
        if len(row.parts) > 1:
            _print(console, Text("first text" if number == 0 else "second text", style="dim"), indent=4)
        _print(console, _paragraph(_excerpt(pieces), signed=row.signed), indent=4)
    if listed and row.evidence is not None:
        for line in _evidence(row.evidence, pair=len(row.parts) > 1, width=console.width - 4):
            _print(console, line, indent=4)
    for line in _lists(row, width=console.width - 4):
        _print(console, line, indent=4)
    console.print()


def _chance(section: Section) -> str:
    """Say a label's probability: in percent, or beside the threshold that it is held against."""
    own = section.decisions[0][1]
    return _decision(own) if own.threshold else section.probability


def _decision(one: Decision) -> str:
    return f"probability {one.probability}" + (f", threshold {one.threshold}" if one.threshold else "")


def _evidence(found: Ranking, *, pair: bool, width: int) -> list[Text]:
    """List evidence, one line a span; the span stands in marks, because there may be no bold type."""
    if not found.passages:
        return [Text("evidence: none, no word has a positive score", style="dim")]
    last = len(str(len(found.passages)))
    lines = [Text("evidence:", style="bold")]
    for number, one in enumerate(found.passages, start=1):
        part = ("first text: ", "second text: ")[one.part] if pair else ""
        start = Text(f"{number:>{last}}. {one.shown}  ").append(part, style="dim")
        lines.append(start + _passage(one, room=max(16, width - start.cell_len)))
    more = f"{found.more} weaker {'span is' if found.more == 1 else 'spans are'} not listed"
    return [*lines, Text(more, style="dim")] if found.more else lines


def _passage(one: Passage, *, room: int) -> Text:
    """Return a span with as many words of its surroundings as there is room for."""
    span = Text(f"\u00bb{one_line(one.text)}\u00ab", style="bold")
    span.truncate(room, overflow="ellipsis")
    before, after = _spaced(one.before), _spaced(one.after)
    free = room - span.cell_len
    # Half the room for each side; what the text after the span leaves over goes to the text before it, and back.
    left = _fitting(re.findall(r"\S+\s*|\s+", before)[::-1], max(free // 2, free - cell_len(after)), end=f"{ELLIPSIS} ")
    lead = "".join(reversed(left))
    right = _fitting(re.findall(r"\s*\S+|\s+", after), free - cell_len(lead), end=f" {ELLIPSIS}")
    return Text(lead, style="dim") + span + Text("".join(right), style="dim")


def _fitting(pieces: list[str], room: int, *, end: str) -> list[str]:
    """Return as many pieces from the first on as there is room for, and an end mark where some are left out."""
    if cell_len("".join(pieces)) <= room:
        return pieces
    free = room - cell_len(end)
    if free < 0:
        return []
    kept: list[str] = []
    for piece in pieces:
        free -= cell_len(piece)
        if free < 0:
            break
        kept.append(piece)
    return [*kept, end]


def _spaced(text: str) -> str:
    """Return a text on one line, with the blanks at its ends."""
    return re.sub(r"\s+", " ", clean(text))


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
    line = one_line(text)
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
