"""What a model's own preparation makes of a picture: found out by measuring it, whatever it is made of.

A preparation is a function from a picture to numbers `[3, height, width]`: a processor of Hugging Face, or a user's own
transform. To remove a part of a picture one must know which colours its numbers stand for, and to say where that
part lies one must know how the picture was cut. Neither is asked of the preparation. It is shown

    a black, a white and a grey picture     numbers = offset + scale x colour, channel by channel
    a picture whose colours are its places  which stretch of rows and columns is left

and what is not of this form (colours that depend on other colours, several crops) is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whylight.core.arrays import Floats
from whylight.core.errors import ModelError
from whylight.core.image import CHANNELS, Frame, Image, Pixels
from whylight.models.folder import is_failure, reason
from whylight.views.pixels import Frames

Prepare = Callable[[Any], Tensor]
"""A picture of Pillow -> numbers `[3, height, width]`."""
PROBE, TOLERANCE = 256, 2e-3
"""Pixels of a side of the pictures that are shown, and how far colours may lie from a line, of the way to white."""
MIDDLE = 0.1, 0.9
"""Where places are read: borders are smeared by filters, or padding."""
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

    @cached_property
    def colours(self) -> Colours:
        """How colours become numbers."""
        black, grey, white = (self._middles(value) for value in (0, WHITE // 2, WHITE))
        scale = white - black
        if (np.abs(scale) < TOLERANCE).any():
            raise ModelError("the preparation of pictures makes the same numbers of black and of white.")
        bent = np.abs((grey - black) / scale - (WHITE // 2) / WHITE).max()
        if bent > TOLERANCE:
            raise ModelError(
                "the preparation of pictures changes colours in another way than by a factor and a shift, so that "
                "there is no telling what black, white or blurred parts would be to the model."
            )
        return Colours(black, scale)

    @property
    def black(self) -> Tensor:
        """The least number that a colour can become, `[3]`."""
        return torch.as_tensor(np.minimum(self.colours.offset, self.colours.offset + self.colours.scale))

    def seen(self, picture: Image) -> Image:
        """Return what a model sees of a picture, at its own size; one that was made so before stays as it is."""
        if picture.frame is not None:
            return picture
        numbers = self.numbers(picture.array)
        colours = (numbers.transpose(1, 2, 0) - self.colours.offset) / self.colours.scale
        pixels = np.asarray(np.clip(np.round(colours * WHITE), 0, WHITE), dtype=np.uint8)
        frame = self._place(picture.height, picture.width)
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
        return numbers

    def _middles(self, value: int) -> Floats:
        """Return the numbers of a picture of one grey, in the middle of which no padding shows, `[3]`."""
        found = self.numbers(np.full((PROBE, PROBE, CHANNELS), value, dtype=np.uint8))
        return np.asarray(np.median(found.reshape(CHANNELS, -1), axis=1))

    def _measured_place(self, height: int, width: int) -> Frame:
        """Show a picture whose colours are its places, and see which places are left."""
        down, across = (np.arange(size) * (WHITE / max(1, size - 1)) for size in (height, width))
        pixels = np.zeros((height, width, CHANNELS))
        pixels[..., 0], pixels[..., 1] = down[:, None], across[None]
        numbers = self.numbers(np.round(pixels).astype(np.uint8))
        shares = (numbers - self.colours.offset[:, None, None]) / self.colours.scale[:, None, None]
        top, bottom = _ends(shares[0].mean(axis=1), height)
        left, right = _ends(shares[1].mean(axis=0), width)
        return Frame(top, left, bottom, right, height, width)


def _ends(shares: Floats, size: int) -> tuple[float, float]:
    """Return where the first and the last row of a frame end, by the places that its rows in the middle come from."""
    if size == 1:
        return 0.0, 1.0
    count = len(shares)
    middle = slice(int(MIDDLE[0] * count), max(int(MIDDLE[0] * count) + 2, int(MIDDLE[1] * count)))
    rows = np.arange(count)[middle] + 0.5
    places = shares[middle] * (size - 1) + 0.5
    slope, start = np.polyfit(rows, places, 1) if len(rows) > 1 else (size / count, 0.0)
    return float(start), float(start + slope * count)
