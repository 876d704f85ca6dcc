"""Tokens of a vision transformer as places in a picture: special ones first, then patches, row by row."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from whylight.core.arrays import Floats, Ints
from whylight.views.activations import enlarged
from whylight.views.positions import Positions


@dataclass(frozen=True, slots=True, eq=False)
class Patches(Positions):
    """Tokens of which each patch lies over many pixels.

    Attributes:
        rows: Patches from top to bottom.
        columns: Patches from left to right.
        labels: The feature of each pixel, `[height, width]`.
    """

    rows: int = 0
    columns: int = 0
    labels: Ints | None = None

    def to_features(self, scores: Tensor) -> Floats:
        """Enlarge scores of tokens `[targets, positions]` to the picture, as scores `[targets, features]`."""
        if self.labels is None:
            raise TypeError("patches lie in a picture")
        return enlarged(scores[:, self.content].reshape(-1, self.rows, self.columns), self.labels)

    def share_out(self, parts: Tensor) -> Floats:
        """Share out the part of each patch among its pixels alike, so that what they add up to stays."""
        if self.labels is None:
            raise TypeError("patches lie in a picture")
        height, width = self.labels.shape
        down, across = (np.arange(size) * count // size for size, count in ((height, self.rows), (width, self.columns)))
        patch = (down[:, None] * self.columns + across).ravel()
        own = parts.detach().double()[:, self.content].cpu().numpy() / np.bincount(patch)
        return np.stack([np.bincount(self.labels.ravel(), row[patch], int(self.labels.max()) + 1) for row in own])
