"""The inside of a picture: from shares and values to places in it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Axes:
    """Edges of the drawn part, in the picture's own units, and what they stand for.

    Attributes:
        width: Of the whole picture.
        height: Of the whole picture.
        left: Where the x axis starts.
        right: Where it ends.
        top: Where the y axis ends.
        bottom: Where it starts.
        low: Value at the bottom.
        high: Value at the top.
    """

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    low: float
    high: float

    def across(self, share: float) -> float:
        """Return the place at some share of the x axis."""
        return self.left + share * (self.right - self.left)

    def down(self, value: float) -> float:
        """Return the place of a value."""
        return self.bottom - (value - self.low) / (self.high - self.low) * (self.bottom - self.top)
