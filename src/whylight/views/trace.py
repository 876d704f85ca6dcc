"""TraceView: what one forward pass computed inside the model.

The head of a model reads the last layer's output through weights on its positions: `start`. It looks at the words
through rows of attention: `rows`, of which each counts by its share, `shares`. In an ordinary model those are the rows
of the last layer, the same for every target. In a model with label attention they are the labels' own attention, one
row per target.

What the pass computed layer by layer is in `recorded`, made when it is first asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from torch import Tensor

from whylight.core.arrays import Floats
from whylight.core.errors import IncompatibleError
from whylight.views.layers import Recorded
from whylight.views.positions import Positions
from whylight.views.view import View

Passed = tuple[tuple[Tensor, ...], Tensor]
"""Attention of each layer, and how much of each position the head reads."""


def _nothing() -> Recorded:
    raise IncompatibleError("the layers of this model were not recorded.")


@dataclass(frozen=True, slots=True, eq=False)
class Deeper:
    """What else attention is asked for, where a classifier offers it.

    Attributes:
        gradients: Gives d score / d attention of each layer, `[targets, heads, positions, positions]`.
        faded: Gives the trace of the same input, of which only a share is left over nothing.
    """

    gradients: Callable[[], tuple[Tensor, ...]]
    faded: Callable[[float], "TraceView"]


class TraceView(View):
    """Attention of one row of an ordinary model.

    Args:
        attention: One tensor a layer, `[heads, positions, positions]`; row i says what position i looks at.
        pool: How much of each row the head reads, `[positions]`, sums to 1: CLS, the last token, or the mean.
        attention_gradient: Gives d score / d attention of the last layer, `[targets, heads, positions, positions]`.
        positions: Which feature each position belongs to.
        recorded: Gives what `recorded` returns.
    """

    seen = "attention and inner states"
    joined = "blend"
    vouches = False
    _deeper: Deeper | None = None

    def __init__(
        self,
        attention: tuple[Tensor, ...],
        pool: Tensor,
        *,
        attention_gradient: Callable[[], Tensor],
        positions: Positions,
        recorded: Callable[[], Recorded] = _nothing,
    ) -> None:
        self._passed: Callable[[], Passed] = lambda: (attention, pool)
        self.attention_gradient = attention_gradient
        self.positions = positions
        self._recorded = cache(recorded)

    @property
    def attention(self) -> tuple[Tensor, ...]:
        """Attention of each layer, `[heads, positions, positions]`."""
        return self._passed()[0]

    @property
    def pool(self) -> Tensor:
        """How much of each position the head reads, `[positions]`, sums to 1."""
        return self._passed()[1]

    def recorded(self) -> Recorded:
        """Return what the pass computed layer by layer."""
        return self._recorded()

    @property
    def start(self) -> Tensor:
        """How much of each position of the last layer's output the head reads, `[1 or targets, positions]`."""
        return self.pool[None]

    @property
    def rows(self) -> Tensor:
        """Attention that the head looks at the words through, `[1 or targets, rows, positions]`."""
        return self.attention[-1].flatten(0, 1)[None]

    @property
    def shares(self) -> Tensor:
        """How much each of those rows counts, `[rows]`, sums to 1."""
        n_heads = len(self.attention[-1])
        return self.pool.repeat(n_heads) / n_heads

    def row_gradient(self) -> Tensor:
        """Return d score / d those rows, `[targets, rows, positions]`."""
        return self.attention_gradient().flatten(1, 2)

    @property
    def deeper(self) -> Deeper:
        """Gradients of all layers, and traces of faded inputs."""
        if self._deeper is None:
            raise IncompatibleError("gradients by attention of all layers are there for vision transformers alone.")
        return self._deeper

    def layers(self) -> tuple[Tensor, ...]:
        """Return the attention inside the encoder, the first layer first, mean over heads.

        Each is `[blocks, size, size]`: positions that are encoded independently of each other form blocks of `size`
        positions, of which the last may be filled up.
        """
        return tuple(layer.mean(0)[None] for layer in self.attention)

    def to_features(self, scores: Tensor) -> Floats:
        """Gather scores of positions `[targets, positions]` into scores of features `[targets, features]`."""
        return self.positions.to_features(scores)

    def share_out(self, parts: Tensor) -> Floats:
        """Gather what positions have of a sum `[targets, positions]` into what features have of it."""
        return self.positions.share_out(parts)


class LazyTraceView(TraceView):
    """The same, with a pass that is made when attention is first asked for.

    Args:
        passed: Gives attention and pool, as `TraceView` takes them.
        attention_gradient: As there.
        positions: As there.
        recorded: As there.
        deeper: What `deeper` returns.
    """

    def __init__(
        self,
        passed: Callable[[], Passed],
        *,
        attention_gradient: Callable[[], Tensor],
        positions: Positions,
        recorded: Callable[[], Recorded],
        deeper: Deeper | None = None,
    ) -> None:
        self._passed = cache(passed)
        self._deeper = deeper
        self.attention_gradient = attention_gradient
        self.positions = positions
        self._recorded = cache(recorded)


class LabelTraceView(TraceView):
    """Attention of one row of a model in which each label has its own attention over the positions.

    Args:
        label_attention: Attention of each target, `[targets, positions]`, each row sums to 1.
        label_gradient: Gives d score of a target / d its own attention, `[targets, positions]`.
        encoder_attention: Gives what `layers` returns.
        positions: Which feature each position belongs to.
        recorded: Gives what `recorded` returns.
    """

    class_specific = True

    def __init__(
        self,
        label_attention: Tensor,
        *,
        label_gradient: Callable[[], Tensor],
        encoder_attention: Callable[[], tuple[Tensor, ...]],
        positions: Positions,
        recorded: Callable[[], Recorded] = _nothing,
    ) -> None:
        self.label_attention = label_attention
        self._label_gradient = label_gradient
        self._encoder_attention = encoder_attention
        self.positions = positions
        self._recorded = cache(recorded)

    @property
    def start(self) -> Tensor:
        """The labels' attention, `[targets, positions]`."""
        return self.label_attention

    @property
    def rows(self) -> Tensor:
        """The labels' attention, one row each, `[targets, 1, positions]`."""
        return self.label_attention[:, None]

    @property
    def shares(self) -> Tensor:
        """One row, which counts alone, `[1]`."""
        return self.label_attention.new_ones(1)

    def row_gradient(self) -> Tensor:
        """Return d score / d the label's own attention, `[targets, 1, positions]`."""
        return self._label_gradient()[:, None]

    def layers(self) -> tuple[Tensor, ...]:
        """Return the attention inside the chunks, the first layer first, mean over heads, `[chunks, size, size]`."""
        return self._encoder_attention()
