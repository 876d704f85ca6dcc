"""A text in the colours of its scores, set in lines as a page sets it; what speaks against is underlined, too.

Letters are measured and placed by hand: matplotlib knows no paragraph. Lengths are in points of the picture. Of a text
of very many words, what stands around the strongest ones is shown, as in a terminal.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from whylight.core.explanation import Explanation
from whylight.core.printable import clean
from whylight.core.text import text_of
from whylight.report.colours import scale_of, shades
from whylight.report.kinds._text_lines import excerpt
from whylight.report.pieces import Piece, pieces_of
from whylight.report.plots.bars import caption_of
from whylight.report.plots.canvas import (
    INCH,
    MUTED,
    SMALL,
    answered,
    described,
    figure_of,
    laid_out,
    new_picture,
    styled,
)
from whylight.report.plots.directions import RIGHT, base_direction, mirrored, reading_directions, visual_order
from whylight.report.plots.letters import (
    LEGEND,
    MARGIN,
    Letters,
    answer_title,
    draw_legend,
    fitted_lines,
    fitting,
    frame_points,
    title_height,
)
from whylight.report.plots.subject import part_mark, said_words, word_names

WIDTH = 6.8
"""Inches of the picture."""
SNUG = 0.98
"""Share of a line that is filled: on paper, letters are a little wider than they were measured."""
SIZE, LINE, PART = 11.5, 21.0, 9.0
"""Points of a letter, of a line, and of the mark above a text of a pair."""


@dataclass(frozen=True, slots=True)
class PlacedLetters:
    """Letters beside each other: their shade step and where they stand, in points from the upper edge."""

    text: str
    step: int
    x: float
    y: float
    width: float


def draw_text(explanation: Explanation, *, target: str | int | None = None, ax: Axes | None = None) -> Figure:
    """Draw a text in the colours of its scores.

    Args:
        explanation: An explanation of a text.
        target: The label, if it explains several.
        ax: Where to draw it; a figure of its own if left out.
    """
    one, signed = explanation.the_target(target), explanation.provenance.signed
    parts = [excerpt(pieces) for pieces in pieces_of(explanation, one)]
    texts = [*text_of(explanation.example).parts, one.label]
    with styled(texts):
        figure = new_picture(WIDTH, 1.0, layout=None) if ax is None else figure_of(ax)
        wide = WIDTH * INCH if ax is None else laid_out(ax)
        stretches, height = _set_parts(parts, wide=SNUG * (wide - 2 * MARGIN))
        caption = fitted_lines(caption_of(explanation), wide - 2 * MARGIN)
        top = MARGIN + title_height(caption)
        tall = top + height + LEGEND + MARGIN
        if ax is None:
            figure.set_size_inches(WIDTH, tall / INCH)
            ax = figure.add_axes((0, 0, 1, 1))
        frame_points(ax, answer_title(explanation, one, wide - 2 * MARGIN), caption, size=(wide, tall))
        _draw_stretches(ax, stretches, top=top, signed=signed)
        ends = ("speaks against", "speaks for") if signed else ("importance: low", "high")
        draw_legend(ax, signed=signed, bottom=tall - MARGIN, ends=ends)
    said = said_words(word_names(explanation), explanation.row(one), signed=signed)
    headline = f"Text coloured by {explanation.provenance.method}: {answered(explanation, one)}"
    whole = " / ".join(" ".join(clean(part).split()) for part in text_of(explanation.example).parts)
    return described(figure, headline, f"{said} The text: {whole}")


def _set_parts(parts: Sequence[Sequence[Piece]], *, wide: float) -> tuple[list[PlacedLetters], float]:
    """Place all parts of a text below each other; return the height, too."""
    made: list[PlacedLetters] = []
    height = 0.0
    for number, pieces in enumerate(parts):
        if len(parts) > 1:
            height += PART * (number + 1)
            made.append(PlacedLetters(part_mark(number), 0, 0.0, height - 2, -1.0))
        lines = _wrapped(pieces, wide)
        base = base_direction("".join(piece.text for piece in pieces))
        for line in lines:
            height += LINE
            made += (replace(one, y=height - LINE / 3) for one in _placed(line, wide, base=base))
    return made, height


def _wrapped(pieces: Sequence[Piece], wide: float) -> list[list[PlacedLetters]]:
    """Cut pieces into lines; a word that is wider than a line goes on in the next."""
    letters, x = Letters(SIZE), 0.0
    lines: list[list[PlacedLetters]] = [[]]
    for text, step in _words(pieces):
        for part in ["\n"] if text == "\n" else _broken(text, wide, letters):
            width = 0.0 if part == "\n" else letters(part)
            if part == "\n" or (x and not part.isspace() and x + width > wide):
                lines.append([])
                x = 0.0
            if part != "\n" and (x or not part.isspace()):
                lines[-1].append(PlacedLetters(part, step, x, 0.0, width))
                x += width
    return [line[:-1] if line and line[-1].text.isspace() else line for line in lines]


def _words(pieces: Sequence[Piece]) -> Iterator[tuple[str, int]]:
    """Yield words, blanks and line ends with their shade steps."""
    for piece in pieces:
        for text in re.findall(r"\n|[^\S\n]+|\S+", clean(piece.text)):
            yield text if not text.isspace() or text == "\n" else " ", piece.step


def _broken(word: str, wide: float, letters: Letters) -> Iterator[str]:
    """Yield parts of a word that each fit into a line."""
    while word:
        fits = max(1, fitting(word, wide, letters))
        yield word[:fits]
        word = word[fits:]


def _placed(line: Sequence[PlacedLetters], wide: float, *, base: str) -> Iterator[PlacedLetters]:
    """Yield what stands in a line, from left to right; one that is read from the right ends at its right edge."""
    words = [one.text for one in line]
    directions = reading_directions(words, base)
    x = wide - sum(one.width for one in line) if base == RIGHT else 0.0
    for place in visual_order(words, base):
        one = line[place]
        yield replace(one, text=mirrored(one.text, directions[place]), x=x)
        x += one.width


def _draw_stretches(axis: Axes, stretches: Sequence[PlacedLetters], *, top: float, signed: bool) -> None:
    for one in stretches:
        placed = replace(one, x=one.x + MARGIN, y=one.y + top)
        if one.width < 0:
            axis.text(placed.x, placed.y, one.text, fontsize=SMALL, color=MUTED, va="baseline")
        else:
            _draw_stretch(axis, placed, signed=signed)


def _draw_stretch(axis: Axes, one: PlacedLetters, *, signed: bool) -> None:
    ink: str = mpl.rcParams["text.color"]
    if one.step and not one.text.isspace():
        shade = shades(scale_of(one.step, signed=signed), scheme="light")[abs(one.step) - 1]
        ink = shade.text
        box = FancyBboxPatch(
            (one.x, one.y - SIZE * 0.95),
            one.width,
            SIZE * 1.3,
            boxstyle="round,pad=0.4,rounding_size=2",
            facecolor=shade.background,
            linewidth=0,
        )
        axis.add_patch(box)
    if signed and one.step < -1 and not one.text.isspace():
        axis.plot([one.x, one.x + one.width], [one.y + 2.2] * 2, color=ink, linewidth=0.7, solid_capstyle="butt")
    if not one.text.isspace():
        axis.text(one.x, one.y, one.text, fontsize=SIZE, va="baseline", ha="left", color=ink)
