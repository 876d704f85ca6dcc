"""Pictures: what the model saw, the same under colours, strongest regions outlined, and a small copy in terminals."""

import numpy as np
from markupsafe import Markup
from rich.style import Style
from rich.text import Text

from whylight.core.explanation import Explanation
from whylight.core.image import Image
from whylight.core.printable import one_line
from whylight.report.heat import (
    blended,
    grey_of,
    heat_of,
    image_of,
    is_smoothed,
    parts_of,
    regions_of,
    shrunk,
    strengths_of,
)
from whylight.report.numbers import shown_score
from whylight.report.png import data_uri
from whylight.report.renderers import Manner, Renderer, register_renderer
from whylight.report.rows import AnswerRow
from whylight.report.templating import macro

COLUMNS = 48
"""Characters that a picture is wide in a terminal."""
STYLE = """\
.whylight .pictures { margin: .6rem 0; --cover: .7; }
.whylight .pictures .side { display: flex; flex-wrap: wrap; gap: .75rem; }
.whylight .pictures figure { margin: 0; width: min(100%, 20rem); }
.whylight .pictures .stack { position: relative; line-height: 0; }
.whylight .pictures img { width: 100%; border-radius: .2rem; }
.whylight .pictures .small img { image-rendering: pixelated; }
.whylight .pictures .heat, .whylight .pictures svg { position: absolute; inset: 0; width: 100%; height: 100%; }
.whylight .pictures .heat { opacity: var(--cover); }
.whylight .pictures rect { fill: transparent; stroke: #fff; stroke-width: 1.5; vector-effect: non-scaling-stroke; }
.whylight .pictures rect.edge { stroke: #000; stroke-width: 3.5; }
.whylight .pictures figcaption, .whylight .pictures label { color: var(--muted); font-size: .8125rem; }
.whylight .pictures label { display: flex; align-items: center; gap: .5rem; margin-top: .4rem; }
.whylight .pictures ol { margin: .4rem 0 0; padding-inline-start: 1.4rem; font-size: .875rem; }"""
FOR, AGAINST = " .+*#", " .-=%"
"""Marks in a terminal without colours, from none to the strongest."""
KEYS = {True: "marks: + * # for, - = % against, . little", False: "marks: + * # what mattered, . little"}
SMALL = 64
"""Pixels of a side below which a picture is shown with its pixels as squares."""


def image_html(row: AnswerRow, _manner: Manner) -> Markup:
    """Return what the model saw, and the same under colours, with its strongest regions."""
    picture = image_of(row.explanation.example)
    regions = regions_of(row.explanation, row.target)
    scores = [shown_score(one.score, peak=regions[0].score, signed=row.signed) for one in regions]
    listed = [(one.box, picture.show(one.box), score) for one, score in zip(regions, scores, strict=True)]
    shown = {
        "plain": data_uri(picture.array),
        "grey": data_uri(grey_of(picture)),
        "heat": data_uri(heat_of(row.explanation, row.target)),
        "small": min(picture.height, picture.width) < SMALL,
        "smoothed": is_smoothed(row.explanation),
    }
    return macro("image.html", "page", row, picture, shown, listed)


def image_tile(row: AnswerRow, _brief: bool) -> Markup:  # noqa: FBT001  as every renderer
    """Return the picture under colours alone."""
    picture = image_of(row.explanation.example)
    return macro("image.html", "tile", row, picture, data_uri(blended(row.explanation, row.target)))


def image_lines(row: AnswerRow, manner: Manner, width: int) -> list[Text]:
    """Return the name of the picture and a small copy under colours; without colours, a map of marks."""
    columns = min(COLUMNS, width)
    own = _coloured_lines(row, columns) if manner.coloured else _marked_lines(row, columns)
    return [Text(one_line(image_brief(row.explanation)), style="dim"), *own]


def _coloured_lines(row: AnswerRow, columns: int) -> list[Text]:
    """Draw two pixels per character: one in its colour, the other in that of its background."""
    small = np.round(shrunk(blended(row.explanation, row.target), columns=columns)).astype(np.uint8)
    lines = []
    for upper, lower in zip(small[::2], small[1::2], strict=False):
        line = Text()
        for above, below in zip(upper, lower, strict=True):
            line.append("\u2580", style=Style(color=_hexadecimal(above), bgcolor=_hexadecimal(below)))
        lines.append(line)
    return lines


def _marked_lines(row: AnswerRow, columns: int) -> list[Text]:
    """Draw a mark per character where scores are strong."""
    strengths = strengths_of(row.explanation, row.target, columns=columns)
    halves = (strengths[::2] + strengths[1::2]) / 2
    peak = float(np.abs(halves).max()) or 1.0
    steps = np.rint(np.abs(halves) / peak * (len(FOR) - 1)).astype(int)
    lines = [
        "".join((AGAINST if value < 0 else FOR)[step] for value, step in zip(values, own, strict=True))
        for values, own in zip(halves, steps, strict=True)
    ]
    side = "+" + "-" * halves.shape[1] + "+"
    return [Text(line) for line in (side, *(f"|{line}|" for line in lines), side, KEYS[row.signed])]


def image_brief(explanation: Explanation) -> str:
    """Return the name of a picture, or its size."""
    picture = image_of(explanation.example)
    return picture.name or f"picture of {picture.width} x {picture.height} pixels"


def image_length(_explanation: Explanation) -> int:
    """Return 1: a picture is taken in at a glance, however many pixels it has."""
    return 1


def _hexadecimal(colour: object) -> str:
    red, green, blue = (int(one) for one in colour)  # type: ignore[attr-defined]  # three bytes of an array
    return f"#{red:02x}{green:02x}{blue:02x}"


IMAGES = Renderer(
    length=image_length,
    html=image_html,
    tile=image_tile,
    style=STYLE,
    lines=image_lines,
    listed=parts_of,
    brief=image_brief,
)
register_renderer(Image.kind, IMAGES)
