"""Explained pictures as a file: what the model saw, beside it the same under colours with its strongest regions."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from whylight.core.errors import InputError
from whylight.core.explanation import Explanation
from whylight.core.image import Image
from whylight.core.labels import Target
from whylight.report.drawn import drawn_targets
from whylight.report.heat import blended, image_of, regions_of
from whylight.report.numbers import shown_score
from whylight.report.plots.canvas import MUTED, SMALL, answered, described, new_picture, styled
from whylight.report.plots.fonts import short_label

SIDE, ABOVE = 3.2, 0.75
"""Inches of a picture's longer side, and of the words above it."""
ROWS = 12
"""Pairs of pictures in one file, at most."""
OUTLINES = (("black", 2.4), ("white", 1.0))
"""Colour and width of the two lines around a region, which show on dark and on light."""


def are_pictures(explanations: Sequence[Explanation]) -> bool:
    """Say whether all explanations are of pictures."""
    return bool(explanations) and all(isinstance(one.example, Image) for one in explanations)


def draw_pictures(explanations: Sequence[Explanation]) -> Figure:
    """Draw explanations of pictures below each other, one row per picture, method and label."""
    rows = [(one, target) for one in explanations for target in _targets(one)]
    if len(rows) > ROWS:
        raise InputError(
            f"{len(rows)} explained pictures are too many for one file, which holds {ROWS}; save them as .html."
        )
    texts = [words for one, target in rows for words in (_title(one, target), image_of(one.example).name)]
    with styled(texts):
        figure = new_picture(2 * SIDE + 0.2, len(rows) * (SIDE + ABOVE))
        for axes, (one, target) in zip(figure.subplots(len(rows), 2, squeeze=False), rows, strict=True):
            _draw(axes[0], axes[1], one, target)
    said = [f"{_title(one, target)}: {_said(one, target)}" for one, target in rows]
    return described(figure, "Pictures under colours of their scores", " ".join(said))


def _targets(explanation: Explanation) -> list[Target]:
    """Return the labels that are drawn: one, where a row holds for all of them."""
    return drawn_targets([explanation]) if explanation.provenance.class_specific else [explanation.targets[0]]


def _draw(plain: Axes, coloured: Axes, explanation: Explanation, target: Target) -> None:
    picture = image_of(explanation.example)
    for axis, pixels in ((plain, picture.array), (coloured, blended(explanation, target))):
        axis.imshow(pixels, interpolation="nearest")
        axis.set_axis_off()
    edges = [np.reshape(edge, (2, 2)) - 0.5 for region in regions_of(explanation, target) for edge in region.edges]
    for colour, width in OUTLINES:  # a pixel's middle is its place
        coloured.add_collection(LineCollection(edges, colors=colour, linewidths=width, capstyle="projecting"))
    seen = f"{short_label(picture.name)}\n" if picture.name else ""
    plain.set_title(f"{seen}what the model sees", fontsize=SMALL, color=MUTED, loc="left")
    coloured.set_title(f"{_title(explanation, target)}\n{_legend(explanation)}", fontsize=SMALL, loc="left")


def _title(explanation: Explanation, target: Target) -> str:
    return f"{explanation.provenance.method}: {answered(explanation, target)}"


def _legend(explanation: Explanation) -> str:
    return "blue: for, red: against" if explanation.provenance.signed else "purple: what mattered"


def _said(explanation: Explanation, target: Target) -> str:
    picture, regions = image_of(explanation.example), regions_of(explanation, target)
    signed = explanation.provenance.signed
    each = [
        f"{picture.show(one.box)} {shown_score(one.score, peak=regions[0].score, signed=signed)}" for one in regions
    ]
    return f"strongest regions {'; '.join(each)}." if each else "no region counts."
