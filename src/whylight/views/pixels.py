"""Pictures as a model reads them: a window that is the whole frame, and a batch of frames."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from whylight.core.arrays import Bools, Ints
from whylight.core.encoded import key_of

Frames = NDArray[np.float32]
"""Red, green and blue from 0 to 1, `[..., height, width, 3]`."""


@dataclass(frozen=True, slots=True, eq=False)
class PixelWindow:
    """The untouched picture.

    Attributes:
        frame: What the model sees, `[height, width, 3]`.
        labels: The feature of each pixel, `[height, width]`.
        mean: The mean colour of what the model was trained on, `[3]`.
    """

    frame: Frames
    labels: Ints
    mean: Frames

    @property
    def features(self) -> Ints:
        """Every feature."""
        return np.arange(int(self.labels.max()) + 1)

    @property
    def blocks(self) -> tuple[Ints, ...]:
        """One block."""
        return (self.features,)

    @property
    def row_bytes(self) -> int:
        """Memory for one picture."""
        return self.frame.nbytes

    def alone(self) -> tuple["PixelWindow", Ints]:
        """Return the picture, which holds every feature."""
        return replace(self), self.features

    def over(self, background: Frames, keep: Bools) -> Frames:
        """Return frames `[coalitions, height, width, 3]` in which a background shows wherever a feature is removed."""
        return np.where(keep[:, self.labels][..., None], self.frame, background)


@dataclass(frozen=True, slots=True, eq=False)
class PixelBatch:
    """Pictures, each a row.

    Attributes:
        frames: The pictures, `[rows, height, width, 3]`.
    """

    frames: Frames

    @property
    def lengths(self) -> Ints:
        """Pixels of each picture."""
        return np.full(len(self.frames), self.frames.shape[1] * self.frames.shape[2], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.frames)

    def take(self, indices: Sequence[int] | Ints) -> "PixelBatch":
        """Return some of the pictures."""
        return PixelBatch(self.frames[np.asarray(indices)])

    def keys(self) -> list[bytes]:
        """Return what makes each picture distinct."""
        return [key_of(np.ascontiguousarray(frame).tobytes()) for frame in self.frames]
