"""Several methods on one text: a column per method and a row per word, in the colours of the scores.

Scores of two methods are in different units, so that each column has its own scale: full colour is its strongest word.
`scale="shared"` has one scale for all, for explanations in one unit.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from whylight.core.arrays import Floats
from whylight.core.errors import SettingError, unknown
from whylight.core.explanation import Explanation
from whylight.core.inputs import noun_of
from whylight.report.cards import captions_of
from whylight.report.numbers import shown_score
from whylight.report.plots.canvas import (
    INCH,
    MUTED,
    SMALL,
    answered,
    described,
    figure_of,
    heading,
    new_picture,
    styled,
)
from whylight.report.plots.cells import MINUS, draw_cells, minus_marks, write_cells
from whylight.report.plots.fonts import short_label
from whylight.report.plots.letters import answer_title, fitted_lines, room_beside
from whylight.report.plots.subject import common_target, marked_parts, named_scores, said_words

COLUMN, NARROW, ROW = 1.05, 0.5, 0.25
"""Inches of a column, of one without numbers, and of a row."""
NAMES, ROOM, LEAST = 1.4, 1.1, 3.6
"""Inches of words beside the columns, of what stands above and below them but for their names, and of all columns."""
FLAT, LETTER = 0.3, 0.075
"""Inches of the names of columns, if one line is enough for them, and of a letter."""
NUMBERED = 6
"""Columns up to which each cell has its number."""
WIDEST = 30
"""Characters of the name of a column."""
Scaling = Literal["own", "shared"]
SCALINGS: tuple[Scaling, ...] = ("own", "shared")
MEANINGS = {
    "own": "full colour is the strongest {} of each column",
    "shared": "full colour is the strongest {} of all columns",
}


def draw_comparison(
    explanations: Sequence[Explanation],
    *,
    target: str | int | None = None,
    top: int = 25,
    scale: Scaling = "own",
    ax: Axes | None = None,
) -> Figure:
    """Draw what several methods say of one text.

    Args:
        explanations: Explanations of one text.
        target: The label, if they explain several.
        top: How many words are shown at most: those that some method finds strongest, in reading order.
        scale: `own`, the strongest word of each method has the full colour, or `shared`, that of all together.
        ax: Where to draw it; a figure of its own if left out.
    """
    if scale not in SCALINGS:
        raise unknown("scale", scale, SCALINGS)
    if top < 1:
        raise SettingError(f"top is at least 1, not {top}.")
    one = common_target(explanations, target)
    named = [named_scores(each, one) for each in explanations]
    words, scores = named[0][0], np.stack([own for _, own in named])  # [methods, features]
    own = relative_scores(scores, "own")
    kept = sorted(int(i) for i in np.argsort(-np.abs(own).max(axis=0), kind="stable")[:top])
    columns, noun = method_columns(explanations), noun_of(explanations[0].example.kind)
    signed = [each.provenance.signed for each in explanations]
    with styled([*words, *columns, one.label]):
        room = max(LEAST, len(columns) * (COLUMN if len(columns) <= NUMBERED else NARROW))
        tall = _tall_names(columns, room / len(columns))
        if ax is None:
            figure: Figure = new_picture(NAMES + room, ROOM + ROW * len(kept) + tall)
            ax = figure.subplots()
        _draw_grid(ax, scores[:, kept], relative_scores(scores, scale)[:, kept], signed)
        _name_cells(ax, [words[i] for i in kept], columns, turned=tall > FLAT)
        beside = room_beside(words, ax)
        shown = [f"{len(kept)} of {len(words)} {noun.features}"] if len(words) > len(kept) else []
        caption = fitted_lines([*shown, MEANINGS[scale].format(noun.feature)], beside)
        heading(ax, answer_title(explanations[0], one, beside), caption, gap=INCH * tall)
        meanings = [*_meanings(signed), *marked_parts(explanations[0])]
        ax.set_xlabel("\n".join(fitted_lines(meanings, beside)), loc="left", fontsize=SMALL, color=MUTED)
    said = (
        f"{name}: {said_words(words, row, signed=each.provenance.signed)}"
        for name, row, each in zip(columns, scores, explanations, strict=True)
    )
    headline = f"{len(columns)} explanations of one {noun.one}, {answered(explanations[0], one)}"
    return described(figure_of(ax), headline, " ".join(said))


def relative_scores(scores: Floats, scale: Scaling) -> Floats:
    """Return scores as shares of the strongest one of their row, or of all rows, `[rows, features]`."""
    peaks = np.abs(scores).max(axis=1, initial=0.0, keepdims=True)
    peaks = peaks if scale == "own" else np.full_like(peaks, peaks.max(initial=0.0))
    return np.asarray(scores / np.where(peaks > 0, peaks, 1.0))


def method_columns(explanations: Sequence[Explanation]) -> list[str]:
    """Name explanations by their method, and by what tells two of one method apart."""
    named = zip(explanations, captions_of(explanations), strict=True)
    return [short_label(f"{one.provenance.method}{f' {own}' if own else ''}", widest=WIDEST) for one, own in named]


def _name_cells(axis: Axes, rows: Sequence[str], columns: Sequence[str], *, turned: bool) -> None:
    axis.set_yticks(np.arange(len(rows)) + 0.5, rows)
    axis.set_xticks(np.arange(len(columns)) + 0.5, columns, fontsize=SMALL)
    for name in axis.get_xticklabels() if turned else ():
        name.set(rotation=40, rotation_mode="anchor", ha="left")
    axis.xaxis.set_label_position("bottom")


def _draw_grid(axis: Axes, scores: Floats, relative: Floats, signed: Sequence[bool]) -> None:
    edges = (np.arange(scores.shape[1] + 1.0), np.arange(scores.shape[0] + 1.0))
    # rows of the picture are words, and what is signed or not is a method: cells are drawn column by column
    texts = minus_marks(relative, signed)
    if len(scores) <= NUMBERED:
        peaks = np.abs(scores).max(axis=1, initial=0.0)
        texts = [
            [shown_score(float(v), peak=float(peak), signed=own).replace("-", MINUS) for v in row]
            for row, peak, own in zip(scores, peaks, signed, strict=True)
        ]
    for column, (values, words, own) in enumerate(zip(relative, texts, signed, strict=True)):
        place = (np.asarray([column, column + 1.0]), edges[0])
        draw_cells(axis, place, values[:, None], [own] * len(values))
        write_cells(axis, place, values[:, None], [[word] for word in words], signed=[own] * len(values), size=SMALL)
    axis.set(xlim=(0, len(scores)), ylim=(scores.shape[1], 0))
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    axis.xaxis.tick_top()


def _tall_names(columns: Sequence[str], room: float) -> float:
    """Return the inches that names of columns take above these: one line, or more if they are turned."""
    longest = LETTER * max(map(len, columns))
    return FLAT if longest < room else FLAT + 0.65 * longest


def _meanings(signed: Sequence[bool]) -> list[str]:
    """Say what colours mean."""
    said = ["blue speaks for the label", f"red, {MINUS}, against it"] if any(signed) else []
    return said + ([] if all(signed) else ["purple is importance, without a sign"])
