"""Scores as shaded cells: colours of ten steps, and a sign in what speaks against, for who does not see the colour."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from whylight.core.arrays import Floats
from whylight.report.colours import INKS, STEPS, Shade, scale_of, shades

BLANK = Shade("#f6f7f8", INKS[0])
"""What has no score."""
MINUS = "\u2212"
VISIBLE = -0.15
"""Share of the strongest score from which on what speaks against has a sign."""


def shade_of(relative: float, *, signed: bool) -> Shade:
    """Return how a score is drawn that is a share of the strongest one, -1 to 1."""
    step = int(np.rint((relative if signed else abs(relative)) * STEPS))
    return shades(scale_of(step, signed=signed), scheme="light")[min(abs(step), STEPS) - 1] if step else BLANK


def draw_cells(axis: Axes, edges: tuple[Floats, Floats], relative: Floats, signed: Sequence[bool]) -> None:
    """Draw a table of cells.

    Args:
        axis: Where to draw.
        edges: Where columns and rows begin and end.
        relative: Scores as shares of the strongest one, `[rows, columns]`.
        signed: Of each row, whether it speaks for and against.
    """
    rows = [
        [to_rgb(shade_of(float(v), signed=own).background) for v in row]
        for row, own in zip(relative, signed, strict=True)
    ]
    axis.pcolormesh(*edges, np.asarray(rows), edgecolors="#ffffff", linewidth=1.2)


def write_cells(
    axis: Axes,
    edges: tuple[Floats, Floats],
    relative: Floats,
    texts: Sequence[Sequence[str]],
    *,
    signed: Sequence[bool],
    size: float,
) -> None:
    """Write into cells, in an ink that can be read there."""
    across, down = ((own[1:] + own[:-1]) / 2 for own in edges)
    for y, values, row, own in zip(down, relative, texts, signed, strict=True):
        for x, value, text in zip(across, values, row, strict=True):
            ink = shade_of(float(value), signed=own).text
            axis.text(x, y, text, color=ink, fontsize=size, ha="center", va="center_baseline")


def minus_marks(relative: Floats, signed: Sequence[bool]) -> list[list[str]]:
    """Return a minus for each cell that is visibly coloured as speaking against."""
    return [
        [MINUS if own and value <= VISIBLE else "" for value in row] for row, own in zip(relative, signed, strict=True)
    ]
