"""Tables that fit their terminal and cut no name: wrapped at blanks, in several blocks, or turned.

- A table that fits is printed as it is; columns of words take fewer places than they could, and are wrapped.
- Columns of figures that do not fit beside each other make several tables below each other, each with the keys.
- What does not fit even so is turned: one block per row, one line per column.

A word, which may be a name or a setting, is never broken: one that is longer than a line is a longer line.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from rich.cells import cell_len
from rich.text import Text

from whylight.core.printable import one_line
from whylight.explaining.console import broken_at_blanks, pieces_of_line

GAP = 2
"""Blanks between two columns."""
COMFORT = 24
"""Places that a column of words needs to be read without effort."""
INDENT = 2

Cells = Sequence[str]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        name: What stands above it.
        kind: `key` says what a row is of, and stands in every block; a `figure` is short; `words` are wrapped.
        joined: Whether it stays with the columns beside it that are joined too, if there is room for all of them.
    """

    name: str
    kind: Literal["key", "figure", "words"] = "figure"
    joined: bool = False


@dataclass(frozen=True, slots=True)
class _Laid:
    """A column with its cells and the places that it gets."""

    column: Column
    cells: tuple[str, ...]
    width: int

    @property
    def natural(self) -> int:
        """Places in which nothing but the name above it need be wrapped."""
        return max(_longest_word(self.column.name), *map(cell_len, self.cells), 0)

    @property
    def least(self) -> int:
        """Places below which it cannot be read, or a name would be broken."""
        if self.column.kind != "words":
            return self.natural
        return max(min(self.natural, COMFORT), _longest_word(self.column.name), *map(_longest_word, self.cells))


def table_lines(
    columns: Sequence[Column], rows: Sequence[Cells], *, width: int, title: str = "", grouped: bool = False
) -> list[Text]:
    """Return the lines of a table.

    Args:
        columns: Its columns, keys first.
        rows: The cells of each row.
        width: Places that a line may have.
        title: What stands above the table.
        grouped: Whether keys that are those of the row above are left blank, but for the last.
    """
    cells = [[one_line(cell) for cell in row] for row in rows]
    laid = [_Laid(one, tuple(row[i] for row in cells), 0) for i, one in enumerate(columns)]
    lines = [Text(line, style="italic") for line in broken_at_blanks(one_line(title), width)] if title else []
    blocks = _blocks(laid, width)
    if not blocks:
        return [*lines, *_turned(laid, width)]
    for number, block in enumerate(blocks):
        lines += [Text()] * (number > 0) + _drawn(_shared_out(block, width), grouped=grouped)
    return lines


def _longest_word(text: str) -> int:
    return max(map(cell_len, pieces_of_line(text)), default=0)


def _blocks(laid: Sequence[_Laid], width: int) -> list[list[_Laid]]:
    """Divide columns among as few tables as they need, each with the keys; none where one figure alone is too wide."""
    keys = [one for one in laid if one.column.kind == "key"]
    others = [one for one in laid if one.column.kind != "key"]
    if _fits(laid, width):
        return [list(laid)]
    if any(one.column.kind == "words" for one in others) or not all(_fits([*keys, one], width) for one in others):
        return []
    blocks = [[*keys]]
    for joined, group in groupby(others, key=lambda one: one.column.joined):
        members = list(group)
        parts = [members] if joined and _fits([*keys, *members], width) else [[one] for one in members]
        for part in parts:
            if not _fits([*blocks[-1], *part], width):
                blocks.append([*keys])
            blocks[-1] += part
    return blocks


def _fits(laid: Sequence[_Laid], width: int) -> bool:
    return sum(one.least + GAP for one in laid) - GAP <= width


def _shared_out(block: Sequence[_Laid], width: int) -> list[_Laid]:
    """Give each column its places: columns of words share what the others leave."""
    free = width - sum(one.least + GAP for one in block) + GAP
    made = []
    for number, one in enumerate(block):
        wishing = sum(other.natural - other.least for other in block[number:])
        more = (one.natural - one.least) * min(free, wishing) // wishing if wishing else 0
        free -= more
        made.append(_Laid(one.column, one.cells, one.least + more))
    return made


def _drawn(block: Sequence[_Laid], *, grouped: bool) -> list[Text]:
    lines = _row_lines(block, [one.column.name for one in block], style="bold")
    before: Cells = ()
    for row in zip(*(one.cells for one in block), strict=True):
        lines += _row_lines(block, _without_repeats(block, row, before) if grouped else row)
        before = row
    return lines


def _without_repeats(block: Sequence[_Laid], row: Cells, before: Cells) -> list[str]:
    """Leave out the first keys, as far as they are those of the row above; never the last key."""
    keys, shown = sum(one.column.kind == "key" for one in block), list(row)
    for number in range(min(keys - 1, len(before))):
        if row[number] != before[number]:
            break
        shown[number] = ""
    return shown


def _row_lines(block: Sequence[_Laid], cells: Cells, *, style: str = "") -> list[Text]:
    """Return a row, as many lines as its longest cell needs."""
    folded = [broken_at_blanks(cell, one.width) for one, cell in zip(block, cells, strict=True)]
    height = max(map(len, folded))
    lines = []
    for number in range(height):
        pieces = [own[number] if number < len(own) else "" for own in folded]
        line = (" " * GAP).join(_placed(one, piece) for one, piece in zip(block, pieces, strict=True))
        lines.append(Text(line.rstrip(), style=style))
    return lines


def _placed(one: _Laid, text: str) -> str:
    blanks = " " * (one.width - cell_len(text))
    return blanks + text if one.column.kind == "figure" else text + blanks


def _turned(laid: Sequence[_Laid], width: int) -> list[Text]:
    """Return one block of lines per row: its keys, and below them each column by its name."""
    keys = [one for one in laid if one.column.kind == "key"]
    others = [one for one in laid if one.column.kind != "key"]
    lines: list[Text] = []
    for number in range(len(laid[0].cells)):
        heading = ", ".join(one.cells[number] if len(keys) == 1 else _named_cell(one, number) for one in keys)
        lines += [Text()] * (number > 0) + [Text(line, style="bold") for line in broken_at_blanks(heading, width)]
        for one in others:
            first, *rest = broken_at_blanks(_named_cell(one, number), width - 2 * INDENT)
            lines += [Text(" " * INDENT + first), *(Text(" " * 2 * INDENT + line) for line in rest)]
    return lines


def _named_cell(one: _Laid, number: int) -> str:
    return f"{one.column.name}: {one.cells[number] or '-'}"
