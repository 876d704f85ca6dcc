"""Results as a sheet, before it is known where it is shown: a title, tables, facts and sentences.

The command line prints a sheet, a notebook draws it, and `repr` is its first lines: one content, one rendering each. A
table that is wider than a terminal is laid out by `report/layout.py`.
"""

import shutil
from dataclasses import dataclass, replace
from io import StringIO
from typing import cast

from rich.table import Table

from whylight.explaining.console import Console
from whylight.report.layout import Column, table_lines
from whylight.report.templating import environment
from whylight.run.summary import Cell

NARROWEST, WIDEST = 60, 100
"""Columns of a terminal that a `repr` takes."""
MOST_LINES = 30
"""Lines of a `repr`."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A number with its interval, as shown."""

    value: str
    bounds: str

    def __str__(self) -> str:
        return f"{self.value} {self.bounds}"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table.

    Attributes:
        heads: Its columns, keys first (`report/layout.py`).
        rows: Its rows, a cell per column.
        title: What it is of, where the sheet has several.
        grouped: Whether a terminal leaves keys blank that are those of the row above, but for the last.
    """

    heads: tuple[Column, ...]
    rows: tuple[tuple[str | Bounded, ...], ...]
    title: str = ""
    grouped: bool = False


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


def sheet_text(sheet: Sheet, *, last: int = 0) -> str:
    """Return the first lines of a sheet, as `repr` shows it.

    Args:
        sheet: The sheet.
        last: How many of its last blocks come first: what a sheet ends in, for who reads on, is what the rest leads to.
    """
    sheet = replace(sheet, blocks=(*sheet.blocks[-last:], *sheet.blocks[:-last])) if last else sheet
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
    cells = [[str(cell) for cell in row] for row in grid.rows]
    lines = table_lines(grid.heads, cells, width=console.width, title=grid.title, grouped=grid.grouped)
    for line in lines:
        console.print(line, soft_wrap=True)
