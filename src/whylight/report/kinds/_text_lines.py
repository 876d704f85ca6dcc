"""Texts in a terminal: coloured where there is colour, and their evidence in words."""

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.text import Text

from whylight.core.printable import clean, one_line
from whylight.report.colours import terminal_style
from whylight.report.evidence import ELLIPSIS, Passage, Ranking
from whylight.report.pieces import Piece

WHOLE = 400
"""A text of up to so many words is shown whole."""
AROUND = 10
"""Of a longer one, the surroundings of so many of its strongest words."""
CONTEXT = 8
"""Words on each side that are its surroundings."""


def paragraph(pieces: Iterable[Piece], *, signed: bool) -> Text:
    """Return pieces of a text in their colours."""
    text = Text()
    for piece in pieces:
        text.append(clean(piece.text), style=terminal_style(piece.step, signed=signed))
    return text


def excerpt(pieces: Sequence[Piece]) -> list[Piece]:
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


def evidence_lines(found: Ranking, *, names: Sequence[str], width: int) -> list[Text]:
    """List evidence, one line per span; the span stands in marks, because there may be no bold type.

    Args:
        found: The evidence.
        names: What the parts of the text are called, where there are several.
        width: Letters of a line.
    """
    if not found.passages:
        return [Text(f"{found.name}: none, {found.lack}", style="dim")]
    last = len(str(len(found.passages)))
    remark = f" ({one_line(found.remark)})" if found.remark else ""
    lines = [Text(found.name, style="bold").append(remark, style="not bold dim").append(":")]
    for number, one in enumerate(found.passages, start=1):
        part = f"{one_line(names[one.part])}: " if names else ""
        start = Text(f"{number:>{last}}. {one.shown}  ").append(part, style="dim")
        lines.append(start + _passage_line(one, room=max(16, width - start.cell_len)))
    more = f"{found.more} weaker {'span is' if found.more == 1 else 'spans are'} not listed"
    return [*lines, Text(more, style="dim")] if found.more else lines


def _passage_line(one: Passage, *, room: int) -> Text:
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
