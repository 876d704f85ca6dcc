"""TraceView: what one forward pass computed inside the model."""

from collections.abc import Callable

from torch import Tensor

from whylight.core.arrays import Floats
from whylight.views.positions import Positions


class TraceView:
    """Attention of one row.

    Args:
        attention: One tensor a layer, `[heads, positions, positions]`; row i says what position i looks at.
        pool: How much of each row the head reads, `[positions]`, sums to 1: CLS, the last token, or the mean.
        attention_gradient: Gives d score / d attention of the last layer, `[targets, heads, positions, positions]`.
        positions: Which feature each position belongs to.
    """

    def __init__(
        self,
        attention: tuple[Tensor, ...],
        pool: Tensor,
        *,
        attention_gradient: Callable[[], Tensor],
        positions: Positions,
    ) -> None:
        self.attention = attention
        self.pool = pool
        self.attention_gradient = attention_gradient
        self.positions = positions

    def to_features(self, scores: Tensor) -> Floats:
        """Gather scores of positions `[targets, positions]` into scores of features `[targets, features]`."""
        return self.positions.to_features(scores)
