"""What a model's own preparation makes of a picture: found out by measuring it, whatever it is made of.

A preparation is a function from a picture to numbers `[3, height, width]`: a processor of Hugging Face, or a user's own
transform. To remove a part of a picture one must know which colours its numbers stand for, and to say where that
part lies one must know how the picture was cut. Neither is asked of the preparation. It is shown

    a black, a white and a grey picture     numbers = offset + scale x colour, channel by channel
    black and white of the picture's size   where the picture shows: where both give the same there is padding
    greys that grow downwards, or across    which stretch of rows and columns is left

and what is not of this form (bent colours, turned pictures) is refused. So is what is not the same each time: what it
made of a picture is kept for a while, and held against what it makes of the same picture later.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.errors import InputError, ModelError
from whylight.core.image import CHANNELS, Frame, Image, Pixels
from whylight.models.folder import is_failure, reason
from whylight.views.pixels import Frames

Prepare = Callable[[Any], Tensor]
"""A picture of Pillow -> numbers `[3, height, width]`."""
PROBE, TOLERANCE = 256, 2e-3
"""Pixels of a side of the pictures that are shown, and how far colours may lie from a line, of the way to white."""
MIDDLE = 0.1, 0.9
"""Where places are read, of the rows in which the picture shows: borders are smeared by filters."""
SHOWS, STRAIGHT = 0.5, 0.05
"""How much of a pixel must be the picture's, and how far places may lie from a line, of the picture's side."""
ATTEMPTS, KEPT, SAME = 16, 4, 1e-6
"""How often a preparation is asked for the same before it is believed, of how many pictures what it made is kept, and
how far numbers of the same may lie apart."""
WHITE = 255


@dataclass(frozen=True, slots=True, eq=False)
class Colours:
    """Numbers of a model's input: `offset + scale * colour`, colours from 0 to 1, `[3]` each."""

    offset: Floats
    scale: Floats

    @property
    def mean(self) -> Frames:
        """The colour that the model reads as 0, which is the mean of what it learnt from; grey, if there is none."""
        colour = -self.offset / self.scale
        inside = bool(((colour > 0) & (colour < 1)).all())
        return np.asarray(colour if inside else np.full(CHANNELS, 0.5), dtype=np.float32)


class Preparation:
    """A model's own preparation, measured.

    Args:
        prepare: The preparation.
    """

    def __init__(self, prepare: Prepare) -> None:
        self._prepare = prepare
        self._place = lru_cache(maxsize=64)(self._measured_place)
        self._made: dict[bytes, Frames] = {}

    @cached_property
    def colours(self) -> Colours:
        """How colours become numbers."""
        black, grey, white = self._greys()
        scale = white - black
        if (np.abs(scale) < TOLERANCE).any():
            raise ModelError("the preparation of pictures makes the same numbers of black and of white.")
        bent = np.abs((grey - black) / scale - (WHITE // 2) / WHITE).max()
        if bent > TOLERANCE:
            raise ModelError(
                "the preparation of pictures changes colours in another way than by a factor and a shift, so that "
                "there is no telling what black, white or blurred parts would be to the model."
            )
        drawn = np.random.default_rng(0).integers(0, WHITE + 1, (PROBE, PROBE, CHANNELS), dtype=np.uint8)
        for _ in range(ATTEMPTS):
            self.numbers(drawn)
        return Colours(black, scale)

    @property
    def black(self) -> Tensor:
        """The least number that a colour can become, `[3]`."""
        return torch.as_tensor(np.minimum(self.colours.offset, self.colours.offset + self.colours.scale))

    def seen(self, picture: Image) -> Image:
        """Return what a model sees of a picture, at its own size; one that was made so before stays as it is."""
        if picture.frame is not None:
            return self._own(picture, picture.frame)
        frame, _ = self._place(picture.height, picture.width)
        numbers = self.numbers(picture.array)
        colours = (numbers.transpose(1, 2, 0) - self.colours.offset) / self.colours.scale
        pixels = np.asarray(np.clip(np.round(colours * WHITE), 0, WHITE), dtype=np.uint8)
        return replace(Image.of(pixels, name=picture.name), frame=frame)

    def frame(self, picture: Image) -> Frames:
        """Return the colours of a picture that is as the model sees it, `[height, width, 3]`, from 0 to 1."""
        return np.asarray(picture.array / np.float32(WHITE), dtype=np.float32)

    def inputs(self, frames: Tensor) -> Tensor:
        """Turn colours `[rows, height, width, 3]` into a model's input `[rows, 3, height, width]`."""
        offset, scale = (
            torch.as_tensor(one, dtype=frames.dtype, device=frames.device)
            for one in (self.colours.offset, self.colours.scale)
        )
        return (offset + scale * frames).permute(0, 3, 1, 2)

    def numbers(self, pixels: Pixels) -> Floats:
        """Return what the preparation itself makes of a picture, `[3, height, width]`."""
        from PIL import Image as Pillow  # noqa: PLC0415  only who explains pictures needs it

        try:
            made = torch.as_tensor(self._prepare(Pillow.fromarray(pixels)))
        except BaseException as error:
            if not is_failure(error):
                raise
            raise ModelError(f"the preparation of pictures fails: {reason(error)}") from error
        if made.dim() != 3 or made.shape[0] != CHANNELS or not bool(torch.isfinite(made).all()):  # noqa: PLR2004
            raise ModelError(
                f"the preparation of a picture must give finite numbers [3, height, width], not {list(made.shape)}."
            )
        numbers: Floats = made.double().cpu().numpy()
        self._refuse_dice(pixels, numbers)
        return numbers

    def _greys(self) -> list[Floats]:
        """Return the numbers of black, grey and white, `[3]` each: the middle ones of where a picture shows."""
        greys = [np.full((PROBE, PROBE, CHANNELS), value, dtype=np.uint8) for value in (0, WHITE // 2, WHITE)]
        found = [self.numbers(one).reshape(CHANNELS, -1) for one in greys]
        apart = np.abs(found[2] - found[0]).max(axis=0)
        return [np.asarray(np.median(one[:, apart >= SHOWS * apart.max()], axis=1)) for one in found]

    def _refuse_dice(self, pixels: Pixels, numbers: Floats) -> None:
        """Refuse a preparation that makes something else of a picture than before, as one for training does."""
        key = str(pixels.shape).encode() + blake2b(pixels.tobytes()).digest()
        before = self._made.setdefault(key, numbers.astype(np.float32))
        if before.shape != numbers.shape or not np.allclose(before, numbers, atol=SAME):
            raise ModelError(
                "the preparation of pictures makes something else of the same picture each time (a crop or a turn "
                "at random?); give the one that is for evaluation."
            )
        for old in list(self._made)[:-KEPT]:
            self._made.pop(old, None)

    def _own(self, picture: Image, frame: Frame) -> Image:
        """Return a picture that was cut for a model, if this one cuts such pictures alike."""
        place, sides = self._place(frame.height, frame.width)
        found, own = (np.asarray([[one.top, one.bottom], [one.left, one.right]]) for one in (frame, place))
        # a pixel of what is seen, or of what was given where that is larger
        pixel = np.maximum(1.0, np.abs(own[:, 1] - own[:, 0]) / sides)
        if sides != (picture.height, picture.width) or (np.abs(found - own) > pixel[:, None]).any():
            raise InputError(
                f"'{picture}' was cut for a model that reads other pictures, or another part of them; this one reads "
                f"{sides[1]} x {sides[0]} pixels of it: give it the picture itself."
            )
        return picture

    def _measured_place(self, height: int, width: int) -> tuple[Frame, tuple[int, int]]:
        """Show pictures whose colours are their places, and see which places are left, in how many rows and columns."""
        plain = [self.numbers(np.full((height, width, CHANNELS), value, dtype=np.uint8)) for value in (0, WHITE)]
        apart = plain[1] - plain[0]
        shown = (apart / self.colours.scale[:, None, None]).mean(axis=0) > SHOWS
        if not shown.any():
            raise ModelError(f"the preparation of pictures shows nothing of one of {width} x {height} pixels.")

        def ends(axis: int) -> tuple[float, float]:
            size = (height, width)[axis]
            grey = np.round(np.arange(size) * (WHITE / max(1, size - 1))).astype(np.uint8)
            grown = np.zeros((height, width, CHANNELS), dtype=np.uint8) + np.expand_dims(grey, (1 - axis, 2))
            shares = ((self.numbers(grown) - plain[0]) / np.where(shown, apart, 1)).mean(axis=0)
            return _ends(*((shares, shown) if axis == 0 else (shares.T, shown.T)), size)

        (top, bottom), (left, right) = ends(0), ends(1)
        rows, columns = shown.shape
        return Frame(top, left, bottom, right, height, width), (rows, columns)


def _ends(shares: Floats, shown: Bools, size: int) -> tuple[float, float]:
    """Return where the first and the last row of a frame end, by the places that its rows in the middle come from.

    Args:
        shares: Which place each pixel comes from, 0 the first and 1 the last, `[rows, columns]`.
        shown: Where the picture shows.
        size: Rows of the picture.
    """
    count, inside = len(shares), np.flatnonzero(shown.any(axis=1))
    first, last = int(inside[0]), int(inside[-1]) + 1
    if size == 1 or len(inside) == 1:
        length = size / (last - first)
        return -first * length, (count - first) * length
    rows, columns = _middle(inside), _middle(np.flatnonzero(shown.any(axis=0)))
    means = np.asarray([np.mean(line, where=where) for line, where in zip(shares[rows], shown[rows], strict=True)])
    places = means * (size - 1) + 0.5
    slope, start = np.polyfit(rows + 0.5, places, 1)
    line = start + slope * (rows + 0.5)
    # each pixel lies on the line of its row, so that rows of what is seen are rows of what was given
    middle = np.ix_(rows, columns)
    apart = np.where(shown[middle], np.abs(shares[middle] * (size - 1) + 0.5 - line[:, None]), 0.0).max()
    if slope == 0 or apart > max(1.0, STRAIGHT * size):
        raise ModelError(
            "the preparation of pictures does more than cut, pad and resize them, so that there is no telling where in "
            "a picture lies what the model sees."
        )
    return float(start), float(start + slope * count)


def _middle(inside: Ints) -> Ints:
    """Return those in the middle of some rows or columns, two at least where there are two."""
    low, high = (int(share * len(inside)) for share in MIDDLE)
    return inside[low : max(low + 2, high)]
