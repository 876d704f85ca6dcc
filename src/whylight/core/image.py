"""Pictures, and boxes in them.

A picture that is explained is as its model sees it: the part that is left after cropping, at the model's own size. It
keeps its `frame`, which says where that part lies in the picture that was given, and its `division` into features:
cells of a grid (a pixel each, or a patch each) or regions of any shape. So the places of features follow from the
picture, and need not be written beside it. What people marked is in pixels of the picture that was given.
"""

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.inputs import JsonValue, Noun, input_kind, numbers_of

Pixels = NDArray[np.uint8]
"""Red, green and blue, `[height, width, 3]`."""
CHANNELS = 3


@dataclass(frozen=True, slots=True, order=True)
class Box:
    """Pixels from `top` to `bottom` and from `left` to `right`, the ends exclusive."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(frozen=True, slots=True)
class Frame:
    """Where in the given picture lies what a model sees of it.

    Attributes:
        top: First row, perhaps within a pixel; below 0 where the picture was padded.
        left: First column.
        bottom: End of the last row.
        right: End of the last column.
        height: Rows of the given picture.
        width: Its columns.
    """

    top: float
    left: float
    bottom: float
    right: float
    height: int
    width: int


@dataclass(frozen=True, slots=True)
class Division:
    """How a picture is cut into features: a grid of cells, numbered row by row, or regions.

    Attributes:
        rows: Cells from top to bottom; 0 for regions.
        columns: Cells from left to right; 0 for regions.
        regions: The feature of each pixel, row by row, as 32-bit numbers; empty for a grid.
    """

    rows: int = 0
    columns: int = 0
    regions: bytes = field(default=b"", repr=False)

    @classmethod
    def into_regions(cls, labels: Ints) -> "Division":
        """Return the division into regions of any shape, `[height, width]`, numbered from 0 without a gap."""
        return cls(regions=np.ascontiguousarray(labels, dtype="<i4").tobytes())

    def labels(self, height: int, width: int) -> Ints:
        """Return the feature of each pixel, `[height, width]`."""
        if self.regions:
            return np.frombuffer(self.regions, dtype="<i4").reshape(height, width).astype(np.int64)
        row, column = (_cells(size, parts) for size, parts in ((height, self.rows), (width, self.columns)))
        return row[:, None] * self.columns + column[None]


@input_kind
@dataclass(frozen=True, slots=True)
class Image:
    """A picture.

    Attributes:
        pixels: Red, green and blue of each pixel, row by row, a byte each.
        height: Rows.
        width: Columns.
        name: What to call it, e.g. the name of its file.
        frame: Where it lies in the picture that was given, if it is what a model sees of that.
        division: How it is cut into features, if it is.
    """

    kind: ClassVar[str] = "image"
    noun: ClassVar[Noun] = Noun("picture", "pictures", "region", "regions")
    place: ClassVar[type[Box]] = Box

    pixels: bytes = field(repr=False)
    height: int
    width: int
    name: str = ""
    frame: Frame | None = None
    division: Division | None = None

    @classmethod
    def of(cls, pixels: Pixels, *, name: str = "", frame: Frame | None = None) -> "Image":
        """Make a picture of red, green and blue, `[height, width, 3]`."""
        height, width, _ = pixels.shape
        return cls(np.ascontiguousarray(pixels, dtype=np.uint8).tobytes(), height, width, name, frame)

    def __str__(self) -> str:
        """Return its name and its size."""
        size = f"{self.width:,} x {self.height:,} pixels"
        return f"{self.name}, {size}" if self.name else size

    @property
    def array(self) -> Pixels:
        """Red, green and blue, `[height, width, 3]`."""
        return np.frombuffer(self.pixels, dtype=np.uint8).reshape(self.height, self.width, CHANNELS)

    @property
    def key(self) -> str:
        """A hash of the pixels, and the size: two pictures of one size and key are the same."""
        return f"{self.height}x{self.width} {blake2b(self.pixels, digest_size=16).hexdigest()}"

    @property
    def size(self) -> int:
        """Number of pixels."""
        return self.height * self.width

    @property
    def labels(self) -> Ints:
        """The feature of each pixel, `[height, width]`."""
        return _labels(self.division or Division(self.height, self.width), self.height, self.width)

    @property
    def own_places(self) -> tuple[Box, ...] | None:
        """The places of its features, if it is cut into features: the smallest box around each."""
        return None if self.division is None else _boxes(self.division, self.height, self.width)

    def show(self, place: Box) -> str:
        """Return where a box lies; what it shows is for a page."""
        return f"x {place.left}-{place.right}, y {place.top}-{place.bottom}"

    def to_json(self) -> dict[str, JsonValue]:
        """Return all of it; pixels are compressed without loss."""
        frame, division = self.frame, self.division
        return {
            "name": self.name,
            "height": self.height,
            "width": self.width,
            "pixels": _packed(self.pixels),
            "frame": None if frame is None else [getattr(frame, name) for name in Frame.__slots__],
            "division": None if division is None else [division.rows, division.columns, _packed(division.regions)],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Image":
        """Make a picture of what `to_json` returned."""
        frame, division = value["frame"], value["division"]
        return cls(
            _unpacked(value["pixels"]),
            value["height"],
            value["width"],
            value["name"],
            None if frame is None else Frame(*frame),
            None if division is None else Division(division[0], division[1], _unpacked(division[2])),
        )

    def marks(self, gold: Sequence[Box], places: Sequence[Box]) -> Bools:
        """Say of each place whether at least half of it is marked; marks are of the picture as it was given."""
        marked = self.marked(gold)
        if tuple(places) == self.own_places:
            labels = self.labels.ravel()
            shares = np.bincount(labels, marked.ravel(), len(places)) / np.bincount(labels, minlength=len(places))
        else:
            shares = np.asarray([marked[one.top : one.bottom, one.left : one.right].mean() for one in places])
        return np.asarray(shares >= 0.5)  # noqa: PLR2004  half

    def marked(self, gold: Sequence[Box]) -> Floats:
        """Return how much of each pixel is marked, `[height, width]`, from 0 to 1."""
        frame = self.frame or Frame(0, 0, self.height, self.width, self.height, self.width)
        whole = np.zeros((frame.height, frame.width))
        for box in gold:
            whole[max(0, box.top) : box.bottom, max(0, box.left) : box.right] = 1.0
        rows = _edges(frame.top, frame.bottom, self.height)
        columns = _edges(frame.left, frame.right, self.width)
        return _mean_between(_mean_between(whole, rows).T, columns).T

    def coordinates(self, places: Sequence[Box]) -> Floats:
        """Return the middles of places, row and column; neighbours of a grid are 1 apart, `[features, 2]`.

        Cells of its own grid have their numbers, as they may be a pixel wider than others, or no squares.
        """
        grid = self.division
        if grid is not None and not grid.regions and len(places) == grid.rows * grid.columns:
            return np.stack(np.divmod(np.arange(len(places)), grid.columns), axis=-1) + 0.5
        numbers = np.asarray([numbers_of(place) for place in places], dtype=np.float64).reshape(-1, 4)
        middles = (numbers[:, :2] + numbers[:, 2:]) / 2
        sides = np.sqrt(self.size / max(1, len(places)))
        return np.asarray(middles / sides)


def runs_of(mask: Bools) -> tuple[Box, ...]:
    """Return boxes, one pixel high, that cover what a mask `[height, width]` marks and nothing else."""
    found: list[Box] = []
    for row, line in enumerate(mask):
        edges = np.flatnonzero(np.diff(np.concatenate(([False], line, [False])).astype(np.int8)))
        found += [Box(row, int(left), row + 1, int(right)) for left, right in zip(edges[::2], edges[1::2], strict=True)]
    return tuple(found)


def _cells(size: int, parts: int) -> Ints:
    """Return which of so many equal parts each pixel of a side is in."""
    return np.asarray(np.arange(size) * parts // size, dtype=np.int64)


@lru_cache(maxsize=8)
def _labels(division: Division, height: int, width: int) -> Ints:
    found = division.labels(height, width)
    found.flags.writeable = False
    return found


@lru_cache(maxsize=8)
def _boxes(division: Division, height: int, width: int) -> tuple[Box, ...]:
    """Return the smallest box around each feature."""
    labels = division.labels(height, width).ravel()
    row, column = np.divmod(np.arange(len(labels)), width)
    count = int(labels.max()) + 1
    low, high = np.full((count, 2), max(height, width)), np.zeros((count, 2), dtype=np.int64)
    for axis, place in enumerate((row, column)):
        np.minimum.at(low[:, axis], labels, place)
        np.maximum.at(high[:, axis], labels, place + 1)
    return tuple(Box(*map(int, both)) for both in np.concatenate([low, high], axis=1))


def _edges(start: float, end: float, count: int) -> Floats:
    return np.asarray(start + (end - start) * np.arange(count + 1) / count)


def _mean_between(values: Floats, edges: Floats) -> Floats:
    """Return the means of rows between edges, which may lie within rows or outside, where there is nothing."""
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    inside = np.clip(edges, 0, len(values))
    lower = np.minimum(inside.astype(np.int64), len(values) - 1)
    share = (inside - lower)[:, None]
    at_edges = sums[lower] * (1 - share) + sums[lower + 1] * share
    return np.asarray(np.diff(at_edges, axis=0) / np.diff(edges)[:, None])


def _packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 6)).decode("ascii") if content else ""


def _unpacked(content: str) -> bytes:
    return zlib.decompress(base64.b64decode(content)) if content else b""
