"""One method at several layers: a row per layer above the words, the last on top, wrapped as a text is.

All layers have one scale, so that a layer in which nothing is strong looks so; `scale="own"` gives each layer its own,
and writes what its full colour stands for beside it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from whylight.core.arrays import Floats, Ints
from whylight.core.errors import InputError, unknown
from whylight.core.explanation import Explanation
from whylight.report.layers import strongest_blocks
from whylight.report.numbers import shown_score
from whylight.report.plots.canvas import (
    INCH,
    MUTED,
    SMALL,
    USUAL,
    answered,
    described,
    figure_of,
    laid_out,
    new_picture,
    styled,
)
from whylight.report.plots.cells import MINUS, draw_cells, minus_marks, write_cells
from whylight.report.plots.comparison import SCALINGS, Scaling, relative_scores
from whylight.report.plots.directions import RIGHT, base_direction
from whylight.report.plots.fonts import short_label
from whylight.report.plots.letters import (
    LEGEND,
    MARGIN,
    Letters,
    answer_title,
    draw_legend,
    fitted_lines,
    frame_points,
    title_height,
)
from whylight.report.plots.subject import common_target, said_words
from whylight.report.stacks import method_of, stacks

WIDTH = 7.6
"""Inches of the picture."""
LAYER, PEAK = 30.0, 44.0
"""Points of the number of a layer before its row, and of its strongest score behind it."""
AROUND, LEAST, WORDS = 8.0, 16.0, 24.0
"""Points around a word, of the narrowest column, and of the words below a block."""
HEIGHTS = ((8, 14.0), (16, 10.0), (1_000, 7.0))
"""Points of a row, by the most layers that have it."""
SPOKEN = 2
"""Words of a layer that the alternative text names on each side."""


@dataclass(frozen=True, slots=True)
class Stack:
    """What is drawn: the layers of one method, from the first to the last.

    Attributes:
        layers: Their numbers.
        scores: Their scores, `[layers, features]`.
        relative: The same as shares of the full colour.
        signed: Whether they speak for and against.
        names: The words.
        widths: Points of the column of each.
        row: Points of a row.
        rightmost: Whether the first word stands on the right.
        own: Whether each layer has its own scale.
    """

    layers: list[int]
    scores: Floats
    relative: Floats
    signed: bool
    names: list[str]
    widths: Floats
    row: float
    rightmost: bool
    own: bool


def draw_layers(
    explanations: Sequence[Explanation],
    *,
    target: str | int | None = None,
    scale: Scaling = "shared",
    ax: Axes | None = None,
) -> Figure:
    """Draw one method at several layers.

    Args:
        explanations: What `wl.explain(..., layer="all")` returned for one text and method.
        target: The label, if they explain several.
        scale: `shared`, the strongest word of all layers has the full colour, or `own`, that of each layer.
        ax: Where to draw it; a figure of its own if left out.
    """
    if scale not in SCALINGS:
        raise unknown("scale", scale, SCALINGS)
    ordered = _one_stack(explanations)
    first, one = ordered[0], common_target(ordered, target)
    with styled([first.example.key, one.label]):
        stack = _stack_of(ordered, np.stack([each.row(one) for each in ordered]), scale)
        figure: Figure = new_picture(WIDTH, 1.0, layout=None) if ax is None else figure_of(ax)
        wide = WIDTH * INCH if ax is None else laid_out(ax)
        every = list(_lines_of_words(stack.widths, wide - 2 * MARGIN - LAYER - PEAK * stack.own))
        blocks = strongest_blocks(every, stack.scores)
        block = stack.row * len(ordered) + WORDS
        hidden = sum(map(len, every)) - sum(map(len, blocks))
        caption = fitted_lines(_layers_caption(first, stack, hidden), wide - 2 * MARGIN)
        top = MARGIN + title_height(caption)
        tall = top + len(blocks) * block + LEGEND + MARGIN
        if ax is None:
            figure.set_size_inches(WIDTH, tall / INCH)
            ax = figure.add_axes((0, 0, 1, 1))
        frame_points(ax, answer_title(first, one, wide - 2 * MARGIN), caption, size=(wide, tall))
        for number, places in enumerate(blocks):
            _draw_block(ax, stack, places, top=top + number * block, wide=wide)
        draw_legend(ax, signed=stack.signed, bottom=tall - MARGIN, ends=_legend_ends(stack))
    said = (
        f"Layer {layer}: {said_words(stack.names, row, signed=stack.signed, most=SPOKEN)}"
        for layer, row in zip(stack.layers, stack.scores, strict=True)
    )
    headline = f"{method_of(first)} at {len(ordered)} layers, {answered(first, one)}"
    return described(figure_of(ax), headline, " ".join(said))


def _one_stack(explanations: Sequence[Explanation]) -> list[Explanation]:
    """Return explanations that differ in their layer alone, the first layer first."""
    found = stacks(explanations)
    if len(found) != 1 or len(found[0]) != len(explanations):
        raise InputError(
            "this picture is of one method at several layers; wl.explain(..., layer='all') of one text and method "
            "makes them, and wl.plot.compare takes several methods."
        )
    return found[0]


def _stack_of(ordered: Sequence[Explanation], scores: Floats, scale: Scaling) -> Stack:
    first, letters = ordered[0], Letters(USUAL)
    names = [short_label(first.example.show(place)) for place in first.places]
    return Stack(
        layers=[int(str(each.provenance.settings["layer"])) for each in ordered],
        scores=scores,
        relative=relative_scores(scores, scale),
        signed=first.provenance.signed,
        names=names,
        widths=np.asarray([max(LEAST, letters(name) + AROUND) for name in names]),
        row=next(height for most, height in HEIGHTS if len(ordered) <= most),
        rightmost=base_direction(first.example.key) == RIGHT,
        own=scale == "own",
    )


def _lines_of_words(widths: Floats, wide: float) -> Iterator[Ints]:
    """Cut features, in their order, into lines that fit."""
    line: list[int] = []
    used = 0.0
    for place, width in enumerate(widths.tolist()):
        if line and used + width > wide:
            yield np.asarray(line)
            line, used = [], 0.0
        line.append(place)
        used += width
    if line:
        yield np.asarray(line)


def _draw_block(axis: Axes, stack: Stack, places: Ints, *, top: float, wide: float) -> None:
    """Draw layers above some words, the last layer on top."""
    left, order = MARGIN + LAYER, places[::-1] if stack.rightmost else places
    across = left + np.concatenate(([0.0], stack.widths[order].cumsum()))
    across += (wide - MARGIN - PEAK * stack.own - across[-1]) * stack.rightmost
    down = top + stack.row * np.arange(len(stack.layers) + 1.0)
    upwards, signed = stack.relative[::-1][:, order], [stack.signed] * len(stack.layers)
    draw_cells(axis, (across, down), upwards, signed)
    write_cells(axis, (across, down), upwards, minus_marks(upwards, signed), signed=signed, size=0.62 * stack.row)
    small = min(SMALL, 0.9 * stack.row)
    for place, (layer, row) in enumerate(reversed(list(zip(stack.layers, stack.scores, strict=True)))):
        middle = top + stack.row * (place + 0.5)
        axis.text(across[0] - 6, middle, str(layer), fontsize=small, color=MUTED, ha="right", va="center_baseline")
        if stack.own:
            peak = row[np.abs(row).argmax()]
            shown = shown_score(float(peak), peak=abs(float(peak)), signed=stack.signed).replace("-", MINUS)
            axis.text(across[-1] + 6, middle, shown, fontsize=small, color=MUTED, ha="left", va="center_baseline")
    base = down[-1] + USUAL + 2
    axis.text(across[0] - 6, base, "layer", fontsize=SMALL, color=MUTED, ha="right", va="baseline")
    for start, end, place in zip(across[:-1], across[1:], order, strict=True):
        axis.text((start + end) / 2, base, stack.names[place], fontsize=USUAL, ha="center", va="baseline")


def _layers_caption(first: Explanation, stack: Stack, hidden: int) -> list[str]:
    own = ["each layer has its own scale", "its strongest score stands beside it"]
    scale = own if stack.own else ["one scale for all layers"]
    return [method_of(first), *scale, *([f"{hidden} words of a long text are not shown"] if hidden else [])]


def _legend_ends(stack: Stack) -> tuple[str, str]:
    """Return what stands at both ends of the shades: scores where there is one scale, else words."""
    if stack.own:
        return ("speaks against", "speaks for") if stack.signed else ("low", "high")
    peak = float(np.abs(stack.scores).max(initial=0.0))
    low = shown_score(-peak, peak=peak, signed=True).replace("-", MINUS) if stack.signed else "0"
    high = shown_score(peak, peak=peak, signed=stack.signed)
    return (f"speaks against {low}", f"{high} speaks for") if stack.signed else (f"importance {low}", high)
