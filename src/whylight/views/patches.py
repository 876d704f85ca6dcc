"""Tokens of a vision transformer as places in a picture: special ones first, then patches, row by row."""

from dataclasses import dataclass

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
