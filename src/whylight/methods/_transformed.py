"""What the positions of a layer contribute to each other through attention, block of rows by block of rows.

    f_i(x_j) = sum over heads h of  A_h,ij (x_j W_V,h) W_O,h + [i = j] x_j

is summed over heads at once and made for some rows i at a time, so that no tensor over heads x N x N x D exists.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from whylight.core.arrays import Floats
from whylight.core.interruption import checkpoint
from whylight.methods._layers import up_to
from whylight.views.layers import Layer, Norm
from whylight.views.trace import TraceView

BLOCK_BYTES = 2**23
"""Memory for the contributions to one block of rows."""


def transformed(layer: Layer, *, norms: tuple[Norm | None, ...], value_bias: bool) -> Iterator[tuple[slice, Tensor]]:
    """Yield blocks of rows i and what each position j contributes to them behind some norms, `[rows, size, width]`.

    A norm without its shift is linear once its deviation is known: x -> scale * (x - mean x) / deviation.

    Args:
        layer: The layer.
        norms: The norms behind attention, one after the other.
        value_bias: Whether the values' bias is part of what a position contributes.
    """
    known = [norm for norm in norms if norm is not None]
    values = head_vectors(layer, layer.inputs, value_bias=value_bias)  # [size, heads, width]
    residual = layer.inputs.clone()
    for norm in known:
        for part in (values, residual):
            part.sub_(part.mean(-1, keepdim=True)).mul_(norm.scale)  # in place: values are as large as attention
    weights = layer.attention.permute(2, 1, 0)  # [size j, size i, heads]
    size, width = layer.inputs.shape
    step = max(1, BLOCK_BYTES // (size * width * values.element_size()))
    for start in range(0, size, step):
        checkpoint()  # a layer of a long text takes minutes
        rows = slice(start, min(start + step, size))
        # without its own layout the product takes hundreds of times as long
        parts = (weights[:, rows].contiguous() @ values).transpose(0, 1)  # [rows, size, width]
        own = torch.arange(rows.stop - rows.start, device=parts.device)
        parts[own, own + start] += residual[rows]
        for norm in known:
            parts /= norm.deviation[rows, None, None]
        yield rows, parts


def rolled(trace: TraceView, contribution: Callable[[Layer], Tensor], *, layer: int | None) -> Floats:
    """Follow what the head reads down through the contributions of each layer: r C_l ... C_1.

    Args:
        trace: The trace.
        contribution: How much each position of a layer contributes to each, `[size, size]`.
        layer: The layer to start from; the last if left out.
    """
    recorded = trace.recorded()
    rows = recorded.reading(recorded.n_layers).rows.double()
    sizes = [len(block.states[0]) for block in recorded.blocks]
    found = []
    for block, own in zip(recorded.blocks, torch.split(rows, sizes, dim=1), strict=True):
        # in this order, because each layer is computed as it is looked at; `map` holds none while it gets the next
        matrices = [matrix.double() for matrix in map(contribution, up_to(block.layers, layer))]
        for matrix in reversed(matrices):
            own = own @ matrix  # noqa: PLW2901  the row on its way down
        found.append(own)
    return trace.to_features(torch.cat(found, dim=1))


def head_vectors(layer: Layer, states: Tensor, *, value_bias: bool) -> Tensor:
    """Return (x_j W_V,h) W_O,h of every state x_j and head h, `[size, heads, width]`; with b_V,h if asked for."""
    n_heads = len(layer.attention)
    values = states @ layer.value.weight.T
    if value_bias and layer.value.bias is not None:
        values = values + layer.value.bias
    by_head = values.reshape(len(values), n_heads, -1)  # [size, heads, head width]
    output = layer.output.weight.T.reshape(n_heads, by_head.shape[-1], -1)  # [heads, head width, width]
    found = by_head.new_empty(len(values), n_heads, output.shape[-1])  # laid out by state, as it is read
    for head in range(n_heads):
        found[:, head] = by_head[:, head] @ output[head]
    return found
