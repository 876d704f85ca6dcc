"""Means with their intervals as dots beside names: a small picture for each column of a table.

Columns of one measure, `MEASURE (REMOVER)`, have one scale, so that what moves between two pictures can be seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whylight.report.charts import ticks, widened
from whylight.report.frame import Axes
from whylight.report.run_rows import number
from whylight.run.summary import Cell

WIDTH, RIGHT, TOP, BOTTOM, LINE = 360.0, 14.0, 6.0, 22.0, 22.0
CHARACTER, NAMES = 6.3, 176.0
"""Width of a character of a name, and the most that names take."""
MOST_TICKS = 5


@dataclass(frozen=True, slots=True)
class RowDot:
    """A row: its name, and where its mean and interval are drawn."""

    name: str
    y: float
    x: float
    low: float
    high: float
    tip: str


@dataclass(frozen=True, slots=True)
class DotPanel:
    """One column as a picture."""

    title: str
    dots: tuple[RowDot, ...]
    x_ticks: tuple[tuple[float, str], ...]
    zero: float | None
    frame: Axes


def dot_panels(columns: Mapping[str, Mapping[str, Cell]]) -> list[DotPanel]:
    """Lay out a picture for each column that has two rows to compare.

    Args:
        columns: By column: the cells of its rows.
    """
    drawn = {name: own for name, own in columns.items() if len(own) > 1}
    names = [row for own in drawn.values() for row in own]
    left = min(NAMES, CHARACTER * max((len(name) for name in names), default=0) + 14)
    return [_panel(name, own, left, _scale_of(name, drawn)) for name, own in drawn.items()]


def column_measure(column: str) -> str:
    """Return what a column measures, without the remover."""
    return column.partition(" (")[0]


def _scale_of(column: str, columns: Mapping[str, Mapping[str, Cell]]) -> tuple[float, float]:
    alike: Sequence[Cell] = [
        cell for name, own in columns.items() if column_measure(name) == column_measure(column) for cell in own.values()
    ]
    return widened(min(cell.low for cell in alike), max(cell.high for cell in alike), least=1e-3)


def _panel(title: str, cells: Mapping[str, Cell], left: float, ends: tuple[float, float]) -> DotPanel:
    low, high = ends
    height = TOP + LINE * len(cells) + BOTTOM
    frame = Axes(WIDTH, height, left=left, right=WIDTH - RIGHT, top=TOP, bottom=height - BOTTOM, low=0.0, high=1.0)

    def across(value: float) -> float:
        return frame.across((value - low) / (high - low))

    def dot(name: str, place: int, cell: Cell) -> RowDot:
        tip = f"{name}: {number(cell.mean)} ({number(cell.low)} to {number(cell.high)})"
        return RowDot(name, TOP + LINE * (place + 0.5), across(cell.mean), across(cell.low), across(cell.high), tip)

    dots = tuple(dot(name, place, cell) for place, (name, cell) in enumerate(cells.items()))
    marks = ticks(low, high)
    marks = marks[:: -(-len(marks) // MOST_TICKS)]
    zero = across(0.0) if low < 0 < high else None
    return DotPanel(title, dots, tuple((across(value), text) for value, text in marks), zero, frame)
