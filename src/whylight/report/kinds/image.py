"""Pictures: what the model saw, the same under colours, strongest regions outlined, and a small copy in terminals."""

import numpy as np
from markupsafe import Markup
from rich.style import Style
from rich.text import Text

from whylight.core.explanation import Explanation
from whylight.core.image import Box, Image
from whylight.core.printable import one_line
from whylight.report.heat import (
    Region,
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
.whylight .pictures figure { margin: 0; flex: 1 1 14rem; max-width: 20rem; }
.whylight .pictures .listed { flex: 1 1 12rem; max-width: 20rem; }
.whylight .pictures .lists { grid-template-columns: 1fr; gap: .8rem; }
.whylight .pictures .strongest li { gap: .5rem; }
.whylight .pictures .strongest li { grid-template-columns: minmax(9rem, auto) minmax(1rem, 1fr) minmax(3rem, auto); }
.whylight .pictures .stack { position: relative; }
.whylight .pictures img { display: block; width: 100%; border-radius: .2rem; }
.whylight .pictures .small img { image-rendering: pixelated; }
.whylight .pictures .heat, .whylight .pictures svg { position: absolute; inset: 0; width: 100%; height: 100%; }
.whylight .pictures .heat { opacity: var(--cover); }
.whylight .pictures rect { fill: transparent; }
.whylight .pictures path { fill: none; stroke: #fff; stroke-width: 1.5; stroke-linecap: square; }
.whylight .pictures path { vector-effect: non-scaling-stroke; }
.whylight .pictures path.edge { stroke: #000; stroke-width: 3.5; }
.whylight .pictures figcaption, .whylight .pictures label { color: var(--muted); font-size: .8125rem; }
.whylight .pictures figcaption { margin-top: .3rem; overflow-wrap: anywhere; }
.whylight .pictures label { display: flex; align-items: center; gap: .5rem; }"""
FOR, AGAINST = " .+*#", " .-=%"
"""Marks in a terminal without colours, from none to the strongest."""
KEYS = {True: "marks: + * # for, - = % against, . little", False: "marks: + * # what mattered, . little"}
SMALL = 64
"""Pixels of a side below which a picture is shown with its pixels as squares."""


def image_html(row: AnswerRow, _manner: Manner) -> Markup:
    """Return what the model saw, and the same under colours, with its strongest regions."""
    picture = image_of(row.explanation.example)
    outlined = [_path(one) for one in regions_of(row.explanation, row.target)]
    shown = {
        "plain": data_uri(picture.array),
        "grey": data_uri(grey_of(picture)),
        "heat": data_uri(heat_of(row.explanation, row.target)),
        "small": min(picture.height, picture.width) < SMALL,
        "smoothed": is_smoothed(row.explanation),
    }
    return macro("image.html", "page", row, picture, shown, outlined, _named_parts(row, picture))


def _path(region: Region) -> str:
    """Return the outline of a region, as SVG writes it."""
    return "".join(f"M{left} {top}L{right} {bottom}" for left, top, right, bottom in region.edges)


def _named_parts(row: AnswerRow, picture: Image) -> list[tuple[Box, str, str]]:
    """Return parts that can be pointed at, where each has its own place: boxes around regions of any shape overlap."""
    boxes, scores = parts_of(row.explanation, row.target)
    if sum((one.bottom - one.top) * (one.right - one.left) for one in boxes) != picture.size:
        outlined = {one.box for one in regions_of(row.explanation, row.target)}
        pairs = [(box, score) for box, score in zip(boxes, scores, strict=True) if box in outlined]
    else:
        pairs = list(zip(boxes, scores, strict=True))
    peak = float(np.abs(scores).max(initial=0.0))
    return [(box, picture.show(box), shown_score(float(s), peak=peak, signed=row.signed)) for box, s in pairs]


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
