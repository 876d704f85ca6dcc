"""Tables of runs, as a program or a spreadsheet reads them; how a terminal shows them, `report/sheets.py` says."""

import csv
from enum import StrEnum
from io import StringIO
from typing import TYPE_CHECKING

from whylight.core.printable import to_json
from whylight.explaining.console import Console, put, say_lines
from whylight.report.layout import Cells, Column, table_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whylight.store.tables import Row

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How a text starts that spreadsheets take for a formula."""


class TableFormat(StrEnum):
    """How a table is printed."""

    table = "table"
    json = "json"
    csv = "csv"


def print_records(records: "Sequence[Row]", output_format: TableFormat) -> None:
    """Print flat records, one per line."""
    if output_format is TableFormat.json:
        put("".join(f"{to_json(record, allow_nan=True)}\n" for record in records))
        return
    buffer = StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _no_formula(value) for name, value in record.items()} for record in records)
    put(buffer.getvalue())


def _no_formula(value: object) -> object:
    """Put an apostrophe before a text that a spreadsheet would compute; JSON is there for who needs it untouched."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULAS) else value


def print_columns(columns: "Sequence[Column]", rows: "Sequence[Cells]", *, title: str = "") -> None:
    """Print a table that fits the terminal; arguments are those of `table_lines`."""
    say_lines(table_lines(columns, rows, width=Console().width, title=title))
