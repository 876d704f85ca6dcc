"""Scores over a picture: colours for each pixel, and the regions that count most.

Colours are those of words: blue speaks for the label, red against it, purple is importance without a sign. Single
pixels are far stronger than their surroundings in maps of gradients, so that full colour begins at the 99th percentile
of what is scored, and strength is shown by transparency: what counts for nothing shows the picture alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.errors import InputError
from whylight.core.explanation import Explanation
from whylight.core.image import Box, Division, Image, runs_of
from whylight.core.inputs import Input
from whylight.core.labels import Target
from whylight.report.colours import Palette, scale_of, shades

PERCENTILE, OPAQUE = 99.0, 255
CELLS, MOST_REGIONS = 14, 400
"""Cells on a side in which pixels are added up to name regions; a picture of no more features than this has its own."""
REGIONS = 3
SMOOTHING = 0.01
"""How far colours of pixels are smeared, of the shorter side: single pixels could not be seen."""
HALF = 2
LUMINANCE, LIGHTEST = np.asarray([0.299, 0.587, 0.114]), 50
"""What each colour adds to brightness, and the grey that black becomes under colours."""


Edge = tuple[int, int, int, int]
"""A straight line between pixels: from left and top to right and bottom."""


@dataclass(frozen=True, slots=True)
class Region:
    """A region that counts: the box around it, its edges, its score, and the place it takes among others."""

    box: Box
    edges: tuple[Edge, ...]
    score: float
    rank: int


def image_of(example: Input) -> Image:
    """Return an input as the picture that it is."""
    if not isinstance(example, Image):
        raise InputError(f"this is made for images, and the input is of the kind '{example.kind}'.")
    return example


def field_of(explanation: Explanation, target: Target) -> Floats:
    """Return the score of each pixel, `[height, width]`; pixels of a region share its score out."""
    picture = image_of(explanation.example)
    scores, labels = explanation.row(target), picture.labels
    sizes = np.bincount(labels.ravel(), minlength=len(scores))
    return np.asarray((scores / np.maximum(sizes, 1))[labels])


def heat_of(explanation: Explanation, target: Target) -> NDArray[np.uint8]:
    """Return colours for each pixel with how much they cover, `[height, width, 4]`."""
    field, signed = _smooth(field_of(explanation, target), explanation), explanation.provenance.signed
    strength = np.abs(field)
    full = float(np.percentile(strength, PERCENTILE)) or float(strength.max())
    cover = np.clip(strength / full, 0, 1) if full else strength
    made = np.zeros((*field.shape, 4), dtype=np.uint8)
    for sign in (1, -1) if signed else (0,):
        where = np.sign(field) == sign if signed else np.ones(field.shape, dtype=bool)
        made[where, :3] = _colour(scale_of(sign or 1, signed=signed))
    made[..., 3] = np.round(cover * OPAQUE)
    return made


def is_smoothed(explanation: Explanation) -> bool:
    """Say whether colours are those of surroundings, because single pixels could not be seen."""
    return len(explanation.places) == image_of(explanation.example).size > MOST_REGIONS


def _smooth(field: Floats, explanation: Explanation) -> Floats:
    if not is_smoothed(explanation):
        return field
    return np.asarray(gaussian_filter(field, SMOOTHING * min(field.shape), mode="nearest"))


def parts_of(explanation: Explanation, target: Target) -> tuple[Sequence[Box], Floats]:
    """Return the parts of a picture that lists name, with their scores: features, or of pixels cells of a grid."""
    _, places, scores = _named_parts(explanation, target)
    return places, scores


def regions_of(explanation: Explanation, target: Target, *, count: int = REGIONS) -> list[Region]:
    """Return the regions that speak most for a label, or count most, strongest first."""
    labels, places, scores = _named_parts(explanation, target)
    signed = explanation.provenance.signed
    order = np.argsort(-(scores if signed else np.abs(scores)), kind="stable")
    chosen = [int(i) for i in order[:count] if scores[i] > 0 or (scores[i] < 0 and not signed)]
    return [Region(places[i], edges_of(labels == i), float(scores[i]), rank) for rank, i in enumerate(chosen, start=1)]


def edges_of(inside: Bools) -> tuple[Edge, ...]:
    """Return the lines around what is inside, `[height, width]`; those of neighbouring pixels are joined."""
    framed = np.pad(inside, 1).astype(np.int8)
    across = [(left, y, right, y) for y, left, right in _runs(np.diff(framed, axis=0)[:, 1:-1] != 0)]
    down = [(x, top, x, bottom) for x, top, bottom in _runs(np.diff(framed, axis=1)[1:-1].T != 0)]
    return (*across, *down)


def _runs(marked: Bools) -> Iterator[tuple[int, int, int]]:
    """Yield number, beginning and end of each run of marks in each row."""
    for box in runs_of(marked):
        yield box.top, box.left, box.right


def _named_parts(explanation: Explanation, target: Target) -> tuple[Ints, Sequence[Box], Floats]:
    """Return which part each pixel is in, `[height, width]`, the box around each part, and its score."""
    picture = image_of(explanation.example)
    if len(explanation.places) <= MOST_REGIONS:
        return picture.labels, explanation.places, explanation.row(target)
    grid = Division(min(CELLS, picture.height), min(CELLS, picture.width))
    labels = grid.labels(picture.height, picture.width)
    scores = np.asarray(np.bincount(labels.ravel(), field_of(explanation, target).ravel()), dtype=np.float64)
    return labels, Image(picture.pixels, picture.height, picture.width, division=grid).own_places or (), scores


def blended(explanation: Explanation, target: Target, *, cover: float = 0.7) -> NDArray[np.uint8]:
    """Return the picture in grey under its colours, `[height, width, 3]`."""
    heat = heat_of(explanation, target)
    share = cover * heat[..., 3:] / OPAQUE
    mixed = grey_of(image_of(explanation.example)) * (1 - share) + heat[..., :3] * share
    return np.asarray(np.round(mixed), dtype=np.uint8)


def grey_of(picture: Image) -> NDArray[np.uint8]:
    """Return a picture in light grey, on which colours show, `[height, width, 3]`."""
    grey = LIGHTEST + (OPAQUE - LIGHTEST) / OPAQUE * (picture.array @ LUMINANCE)
    return np.repeat(np.asarray(np.round(grey), dtype=np.uint8)[..., None], 3, axis=2)


def strengths_of(explanation: Explanation, target: Target, *, columns: int) -> Floats:
    """Return how strongly parts of a small copy of a picture are coloured, `[rows, columns]`; below 0 it is against."""
    field, heat = _smooth(field_of(explanation, target), explanation), heat_of(explanation, target)
    signs = np.sign(field) if explanation.provenance.signed else np.ones(field.shape)
    return shrunk((signs * heat[..., 3] / OPAQUE)[..., None], columns=columns)[..., 0]


def shrunk(values: NDArray[Any], *, columns: int) -> Floats:
    """Return means of values `[height, width, channels]` in so many columns; the number of rows is even."""
    height, width, channels = values.shape
    columns = min(columns, width)
    rows = max(HALF, min(height, round(height * columns / width)) // HALF * HALF)
    labels = Division(min(rows, height), columns).labels(height, width).ravel()
    sizes = np.bincount(labels)
    sums = np.stack([np.bincount(labels, values[..., channel].ravel()) for channel in range(channels)], axis=1)
    return np.asarray(sums / sizes[:, None]).reshape(-1, columns, channels)


def _colour(palette: Palette) -> tuple[int, int, int]:
    """Return the full colour of a palette, between light and dark: it lies over pictures of either kind."""
    shade = shades(palette, scheme="terminal")[-2].background
    red, green, blue = (int(shade[i : i + 2], 16) for i in (1, 3, 5))
    return red, green, blue
