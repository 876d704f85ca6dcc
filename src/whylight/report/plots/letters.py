"""Letters in points: how wide they are, where pictures place words by themselves, and the legend below these."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from whylight.report.plots.canvas import INCH, LARGE, MUTED, SMALL, bold, colour_map

MARGIN, TITLE, LEGEND = 8.0, 34.0, 28.0
"""Points around everything, of the title above, and of the legend below."""
SHADE = 9.0
"""Points of a shade in the legend."""
_FINE = 8
"""Dots per point that letters are measured with."""


class Letters:
    """Says how wide letters of a size are, in points, in the fonts of the present style.

    Args:
        size: Their size, in points.
    """

    def __init__(self, size: float) -> None:
        canvas: Any = FigureCanvasAgg(Figure(dpi=INCH * _FINE))
        self._renderer = canvas.get_renderer()
        self._font = FontProperties(size=size)
        self._known: dict[str, float] = {}

    def __call__(self, text: str) -> float:
        """Return the width of a text."""
        if text not in self._known:
            wide, _, _ = self._renderer.get_text_width_height_descent(text, self._font, ismath=False)
            self._known[text] = wide / _FINE
        return self._known[text]


def frame_points(axis: Axes, title: str, caption: str, *, size: tuple[float, float]) -> None:
    """Let axes count points from their upper left corner, and write a title and a caption there."""
    wide, tall = size
    axis.set(xlim=(0, wide), ylim=(tall, 0))
    axis.set_axis_off()
    axis.text(MARGIN, MARGIN + LARGE, title, fontsize=LARGE, va="baseline", **bold(title))
    axis.text(MARGIN, MARGIN + LARGE + 1.6 * SMALL, caption, fontsize=SMALL, color=MUTED, va="baseline")


def draw_legend(axis: Axes, *, signed: bool, bottom: float, ends: tuple[str, str]) -> None:
    """Draw the shades of scores, and what stands at both ends of them."""
    shown, letters = colour_map(signed=signed), Letters(SMALL)
    x = MARGIN + letters(ends[0]) + 6
    axis.text(MARGIN, bottom - 4, ends[0], fontsize=SMALL, color=MUTED, va="baseline")
    for number in range(shown.N):
        left = x + number * SHADE
        axis.fill_between([left, left + SHADE], bottom - 12, bottom - 2, color=shown(number), linewidth=0)
    axis.text(x + shown.N * SHADE + 6, bottom - 4, ends[1], fontsize=SMALL, color=MUTED, va="baseline")
