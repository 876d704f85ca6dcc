"""What one forward pass computed layer by layer, in neutral terms: plain records, of which methods are functions.

A text is encoded in one block or, in a model that reads chunks, in several that do not see each other. A layer of a
block takes states x to

    u = x + sum over heads h of  A_h (x W_V,h + b_V,h) W_O,h + b_O        states after the next layer = u + mlp(u)

with a norm after each of the two sums (BERT) or on what enters each sublayer (pre-norm). Everything in it that is not
linear is recorded at its true value: attention, the deviation that a norm divides by, and the slope y / x of an
activation. So each step below is affine, and takes a sum of vectors to the sum of what it makes of them plus its bias.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from whylight.core.errors import IncompatibleError

Rows = slice | Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """y = W x + b.

    Attributes:
        weight: `[out, in]`, or one per row, `[rows, out, in]`.
        bias: `[out]` or `[rows, out]`, where there is one.
    """

    weight: Tensor
    bias: Tensor | None

    def at(self, rows: Rows) -> "Affine":
        """Return the step of some rows."""
        if self.weight.dim() == 2:  # noqa: PLR2004  the same matrix for every row
            return self
        return Affine(self.weight[rows], None if self.bias is None else self.bias[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Norm:
    """y = scale * (x - mean of x) / deviation + shift.

    Attributes:
        scale: `[width]`.
        shift: `[width]`, where there is one.
        deviation: sqrt(variance + epsilon) of the true x of each row, `[rows]`.
    """

    scale: Tensor
    shift: Tensor | None
    deviation: Tensor

    def at(self, rows: Rows) -> "Norm":
        """Return the step of some rows."""
        return replace(self, deviation=self.deviation[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Slope:
    """y = factor * x, by component.

    Attributes:
        factor: `[rows, width]`: of an activation f, f(x) / x at the true x; of a gated one, the activated gate.
    """

    factor: Tensor

    def at(self, rows: Rows) -> "Slope":
        """Return the step of some rows."""
        return Slope(self.factor[rows])


Operation = Affine | Norm | Slope


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One layer as it was computed for one block.

    Attributes:
        inputs: States that entered it, `[size, width]`.
        attention: `[heads, size, size]`; row i says what position i looks at.
        value: Projection to the values of all heads, one after the other.
        output: Projection from what all heads read, back to the states.
        before_attention: Norm of what enters attention (pre-norm models).
        after_attention: Norm of the sum of states and attention (post-norm models).
        before_mlp: Norm of what enters the MLP (pre-norm models).
        mlp: Gives the steps of the MLP: up, activation, down.
        after_mlp: Norm of the sum of states and MLP (post-norm models).
    """

    inputs: Tensor
    attention: Tensor
    value: Affine
    output: Affine
    before_attention: Norm | None
    after_attention: Norm | None
    before_mlp: Norm | None
    mlp: Callable[[], tuple[Operation, ...]]
    after_mlp: Norm | None


@dataclass(frozen=True, slots=True, eq=False)
class IndependentBlock:
    """A stretch of positions that is encoded independently of the others.

    Attributes:
        states: States before the first layer and after each, `[size, width]`.
        layers: Its layers; each is computed when it is asked for, so that only one need stand in memory.
        bias: What the bias of a projection of the embeddings adds to the first states, `[width]`, where there is one.
    """

    states: Sequence[Tensor]
    layers: Sequence[Layer]
    bias: Tensor | None


@dataclass(frozen=True, slots=True, eq=False)
class HeadReading:
    """How a head reads the states of all positions.

    Attributes:
        norm: Norm of the states, before they are read (pre-norm models).
        rows: How much of each position is read, `[rows, positions]`, each row sums to 1: one row for all targets, or
            with label attention one per target.
        steps: From what was read, `[rows, width]`, to logits: of all labels, or with label attention of its own.
    """

    norm: Norm | None
    rows: Tensor
    steps: tuple[Operation, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """What one forward pass computed.

    Attributes:
        blocks: The blocks, in the order of their positions.
        read: How the head reads states `[positions, width]`; those of the last layer are what it was made for.
        row: The row of the reading that each target is about, `[targets]`.
        column: The logit of that row that each target is about, `[targets]`.
        sign: 1, or -1 where a target's logit is the opposite of the model's, `[targets]`.
        logits: What the model itself answered, `[targets]`.
    """

    blocks: tuple[IndependentBlock, ...]
    read: Callable[[Tensor], HeadReading]
    row: Tensor
    column: Tensor
    sign: Tensor
    logits: Tensor

    def reading(self, depth: int) -> HeadReading:
        """Return how the head reads the states after so many layers."""
        return self.read(torch.cat([block.states[depth] for block in self.blocks]))

    @property
    def n_layers(self) -> int:
        """Number of layers."""
        return len(self.blocks[0].layers)


def slope(function: Callable[[Tensor], Tensor], values: Tensor) -> Slope:
    """Return the slope of an activation at true values; one that is not 0 at 0 is refused."""
    if float(function(values.new_zeros(()))) != 0:
        raise IncompatibleError(
            f"the activation {function} is not 0 at 0, so that it has no line through the origin; "
            "use a method that looks at gradients."
        )
    return Slope(line_through_origin(function, values, function(values)))


def line_through_origin(function: Callable[[Tensor], Tensor], x: Tensor, y: Tensor) -> Tensor:
    """Return f(x) / x of y = f(x), and its limit f'(0) where x is too small to be divided by."""
    vanishing = x.abs() < torch.finfo(x.dtype).tiny
    factor = y / torch.where(vanishing, torch.ones_like(x), x)
    if not bool(vanishing.any()):
        return factor
    with torch.enable_grad():
        zero = x.new_zeros(x.shape[-1:], requires_grad=True)
        (limit,) = torch.autograd.grad(function(zero).sum(), zero)
    return torch.where(vanishing, limit, factor)
