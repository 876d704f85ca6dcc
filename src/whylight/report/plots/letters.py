"""Letters in points: how wide they are, where pictures place words by themselves, and the legend below these."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from whylight.core.explanation import Explanation
from whylight.core.labels import Target
from whylight.report.numbers import answered
from whylight.report.plots.canvas import (
    INCH,
    LARGE,
    MUTED,
    SMALL,
    USUAL,
    DescribedFigure,
    bold,
    colour_map,
    figure_of,
    laid_out,
)
from whylight.report.shortening import fitted

MARGIN, TITLE, LEGEND = 8.0, 21.0, 28.0
"""Points around everything, of the title above, and of the legend below."""
BETWEEN = " \u00b7 "
"""What stands between two parts of small print."""
BOLD = 1.13
"""How much wider bold letters are."""
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
        canvas: Any = FigureCanvasAgg(Figure(figsize=(0.1, 0.1), dpi=INCH * _FINE))
        self._renderer = canvas.get_renderer()
        self._font = FontProperties(size=size)
        self._known: dict[str, float] = {}

    def __call__(self, text: str) -> float:
        """Return the width of a text."""
        if text not in self._known:
            wide, _, _ = self._renderer.get_text_width_height_descent(text, self._font, ismath=False)
            self._known[text] = wide / _FINE
        return self._known[text]


def fitting(text: str, room: float, letters: Letters) -> int:
    """Return how many of the first characters of a text are no wider than so many points."""
    return (
        len(text) if letters(text) <= room else bisect_right(range(1, len(text)), room, key=lambda n: letters(text[:n]))
    )


def fitted_lines(parts: Sequence[str], room: float) -> list[str]:
    """Join parts of small print into lines no wider than so many points; a part that is wider is broken at blanks."""
    letters, lines = Letters(SMALL), list[str]()
    for part in parts:
        for place, word in enumerate([part] if letters(part) <= room else part.split(" ")):
            joined = f"{lines[-1]}{' ' if place else BETWEEN}{word}" if lines else word
            if lines and letters(joined) <= room:
                lines[-1] = joined
            else:
                lines.append(word[: max(1, fitting(word, room, letters))])
    return lines


def fitted_title(name: str, rest: str, room: float) -> str:
    """Return a title of a name and what stands around it (`{}`), the name without its middle if it is too long."""
    letters = Letters(LARGE * BOLD)
    return rest.format(fitted(name, room, wide=lambda shown: letters(rest.format(shown))))


def answer_title(explanation: Explanation, target: Target, room: float) -> str:
    """Return a label and its probability, as a title that fits into so many points."""
    probability = answered(explanation.prediction, target.index)
    return fitted_title(target.label, f"{{}} {probability}", room)


def room_beside(names: Sequence[str], axes: Axes) -> float:
    """Return the points that small print has beside the names of rows."""
    figure = figure_of(axes)
    if not isinstance(figure, DescribedFigure):
        return laid_out(axes)
    return INCH * figure.get_figwidth() - max(map(Letters(USUAL), names), default=0.0) - 2 * MARGIN


def title_height(caption: Sequence[str]) -> float:
    """Return the points that a title takes with its small print."""
    return TITLE + 1.5 * SMALL * len(caption)


def frame_points(axis: Axes, title: str, caption: Sequence[str], *, size: tuple[float, float]) -> None:
    """Let axes count points from their upper left corner, and write a title and small print there."""
    wide, tall = size
    axis.set(xlim=(0, wide), ylim=(tall, 0))
    axis.set_axis_off()
    axis.text(MARGIN, MARGIN + LARGE, title, fontsize=LARGE, va="baseline", **bold(title))
    for number, line in enumerate(caption, start=1):
        axis.text(MARGIN, MARGIN + LARGE + 1.5 * SMALL * number, line, fontsize=SMALL, color=MUTED, va="baseline")


def draw_legend(axis: Axes, *, signed: bool, bottom: float, ends: tuple[str, str]) -> None:
    """Draw the shades of scores, and what stands at both ends of them."""
    shown, letters = colour_map(signed=signed), Letters(SMALL)
    x = MARGIN + letters(ends[0]) + 6
    axis.text(MARGIN, bottom - 4, ends[0], fontsize=SMALL, color=MUTED, va="baseline")
    for number in range(shown.N):
        left = x + number * SHADE
        axis.fill_between([left, left + SHADE], bottom - 12, bottom - 2, color=shown(number), linewidth=0)
    axis.text(x + shown.N * SHADE + 6, bottom - 4, ends[1], fontsize=SMALL, color=MUTED, va="baseline")
