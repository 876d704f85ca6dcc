"""Results as a sheet, before it is known where it is shown: a title, tables, facts and sentences.

The command line prints a sheet, a notebook draws it, and `repr` is its first lines: one content, one rendering each. A
table that is wider than a terminal is cut into several below each other.
"""

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import cast

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from whylight.core.printable import one_line
from whylight.explaining.console import Console
from whylight.report.templating import environment
from whylight.run.summary import Cell

NARROWEST, WIDEST = 60, 100
"""Columns of a terminal that a `repr` takes."""
MOST_LINES = 30
"""Lines of a `repr`."""
GAP = 2
"""Blanks between two columns."""
ARROW = 2
"""Characters of what stays with the word before it: the direction of a metric."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A number with its interval, as shown."""

    value: str
    bounds: str

    def __str__(self) -> str:
        return f"{self.value} {self.bounds}"


@dataclass(frozen=True, slots=True)
class ColumnHead:
    """A column: its name, and whether it holds numbers, which stand on its right."""

    name: str
    right: bool = True


@dataclass(frozen=True, slots=True)
class Grid:
    """A table.

    Attributes:
        heads: Its columns.
        rows: Its rows, a cell per column.
        title: What it is of, where the sheet has several.
        keys: How many columns say what a row is of: a part of a wide table has them, too.
    """

    heads: tuple[ColumnHead, ...]
    rows: tuple[tuple[str | Bounded, ...], ...]
    title: str = ""
    keys: int = 1


@dataclass(frozen=True, slots=True)
class FactList:
    """Names and values."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """A sentence above others."""

    words: str


SheetBlock = Grid | FactList | Heading | str
"""A plain string is a sentence."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """What is shown of a result.

    Attributes:
        title: What it is.
        blocks: Tables, facts and sentences, the most important ones first.
        notes: How to read them; a `repr` leaves these out.
    """

    title: str
    blocks: tuple[SheetBlock, ...]
    notes: tuple[str, ...] = ()


def with_interval(cell: Cell | None, *, digits: int = 3) -> str | Bounded:
    """Write a mean and its interval."""
    if cell is None:
        return "-"
    return Bounded(f"{cell.mean:.{digits}f}", f"[{cell.low:.{digits}f}, {cell.high:.{digits}f}]")


def count_of(number: int, noun: str) -> str:
    """Write how many there are of something whose plural ends in s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def print_sheet(sheet: Sheet, console: Console | None = None) -> None:
    """Print all of a sheet."""
    shown = Console() if console is None else console
    shown.print(sheet.title, style="italic")
    _print_blocks(sheet, shown)
    for note in sheet.notes:
        shown.print(note, style="dim")


def sheet_text(sheet: Sheet) -> str:
    """Return the first lines of a sheet, as `repr` shows it."""
    console = plain_console()
    console.print(sheet.title)
    _print_blocks(sheet, console)
    return cut_lines(printed(console))


def sheet_html(sheet: Sheet) -> str:
    """Return a sheet as a card for a notebook."""
    return environment().get_template("sheet_fragment.html").render(sheets=[sheet])


def sheet_page(sheet: Sheet) -> str:
    """Return a sheet as a complete HTML document."""
    return environment().get_template("sheet_page.html").render(sheets=[sheet], heading=sheet.title)


def plain_console() -> Console:
    """Return a terminal without colours, whose output is kept; it is as wide as the true one, within bounds."""
    columns = shutil.get_terminal_size((WIDEST, 1)).columns
    return Console(file=StringIO(), width=min(WIDEST, max(NARROWEST, columns)), color_system=None)


def printed(console: Console) -> str:
    """Return what was printed to a plain terminal, without blanks at the ends of lines."""
    content = cast("StringIO", console.file).getvalue()
    return "\n".join(line.rstrip() for line in content.split("\n")).strip("\n")


def cut_lines(text: str) -> str:
    """Return the first lines of a text, and how many follow."""
    lines = text.split("\n")
    if len(lines) <= MOST_LINES:
        return text
    more = len(lines) - MOST_LINES + 1
    rest = f'\u2026 {count_of(more, "more line")}; .to_frame() and .save("x.html") have everything'
    return "\n".join([*lines[: MOST_LINES - 1], rest])


def _print_blocks(sheet: Sheet, console: Console) -> None:
    for number, block in enumerate(sheet.blocks):
        if number and not (isinstance(block, str | Heading) and isinstance(sheet.blocks[number - 1], str | Heading)):
            console.print()
        if isinstance(block, str):
            console.print(block)
        elif isinstance(block, Heading):
            console.print(block.words, style="bold")
        elif isinstance(block, FactList):
            console.print(_fact_table(block))
        else:
            _print_grid(block, console)


def _fact_table(facts: FactList) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.pairs:
        table.add_row(name, value)
    return table


def _print_grid(grid: Grid, console: Console) -> None:
    if grid.title:
        console.print(grid.title, style="italic")
    for number, columns in enumerate(_fitting_columns(grid, console.width)):
        if number:
            console.print()
        console.print(_rich_table(grid, columns))


def _rich_table(grid: Grid, columns: Sequence[int]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        head = grid.heads[column]
        name = _folded_name(head.name, _cells_width(grid, column))
        table.add_column(name, justify="right" if head.right else "left", overflow="fold")
    for row in grid.rows:
        table.add_row(*(str(row[column]) for column in columns))
    return table


def _fitting_columns(grid: Grid, width: int) -> Iterator[list[int]]:
    """Divide the columns of a table into parts that fit beside each other; each has the columns that are keys."""
    sizes = [_column_width(grid, column) for column in range(len(grid.heads))]
    keys, left = list(range(grid.keys)), list(range(grid.keys, len(grid.heads)))
    if not left:
        yield keys
    while left:
        room, taken = width - sum(sizes[column] + GAP for column in keys), 1
        while taken < len(left) and sum(sizes[i] + GAP for i in left[: taken + 1]) - GAP <= room:
            taken += 1
        yield [*keys, *left[:taken]]
        left = left[taken:]


def _column_width(grid: Grid, column: int) -> int:
    within = _cells_width(grid, column)
    return max(within, *(cell_len(line) for line in str(_folded_name(grid.heads[column].name, within)).split("\n")))


def _cells_width(grid: Grid, column: int) -> int:
    return max((cell_len(one_line(str(row[column]))) for row in grid.rows), default=0)


def _folded_name(name: str, room: int) -> Text:
    """Break the name of a column at blanks and underscores, where it is wider than what stands below it."""
    lines = [""]
    for piece in re.findall(r"[^\s_]+_?\s?|_+", one_line(name)):
        if lines[-1] and len(piece) > ARROW and cell_len((lines[-1] + piece).rstrip()) > room:
            lines.append(piece)
        else:
            lines[-1] += piece
    return Text("\n".join(line.rstrip() for line in lines))
