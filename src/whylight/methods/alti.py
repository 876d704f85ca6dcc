"""ALTI: how much of each position is in each other one after a layer, followed through all layers.

A layer's state behind its first norm is a sum of one vector per position, and of biases:

    T_i(x_j) = L (sum over heads h of  A_h,ij v_h,j W_O,h + [i = j] x_j) / deviation_i,   L x = scale * (x - mean x)
    y_i      = sum over j of T_i(x_j) + L b_O / deviation_i + shift
    c_ij     = max(0, |y_i|_1 - |y_i - T_i(x_j)|_1), rows divided by their sum;     a = r C_L ... C_1

with r what the head reads of the last layer. The MLP and the second norm are left out. Not specific to a class, but in
a model with label attention r is the label's own attention: one row per target. A row in which every c_ij is 0 is
spread evenly. `layer` l stops there, a = r C_l ... C_1, with the same r.

Defined for layers that end in a norm; others are refused by name.
Reference: Ferrando et al. 2022. Cost: two forward passes (three with label attention), and N^2 D heads per layer, in
blocks of rows.
The published code builds heads x N x N x D tensors, is tied to the modules of three architectures, and cannot read a
label's own attention.
"""

import torch
from torch import Tensor

from whylight.core.arrays import Floats
from whylight.core.registry import method
from whylight.methods._transformed import rolled, transformed
from whylight.views.layers import Layer
from whylight.views.trace import TraceView


@method(
    cite="ferrando2022",
    signed=False,
    cost="2 forward, n^2 products per layer",
    good_for="seeing how much of each word is left at the head; the same for every label",
    class_specific=False,
    layers="post_norm",
)
def alti(trace: TraceView, *, layer: int | None = None) -> Floats:
    """Score each word by how much of it is left in what the head reads, by L1 distances."""
    return rolled(trace, contributions, layer=layer)


def contributions(layer: Layer) -> Tensor:
    """Return C of one layer, `[size, size]`: rows are at least 0 and sum to 1."""
    found, constant = torch.empty_like(layer.attention[0]), bias(layer)
    for rows, parts in transformed(layer, norms=(layer.after_attention,), value_bias=True):
        whole = parts.sum(1) + constant[rows]  # y, [rows, width]
        distance = torch.linalg.vector_norm(parts.sub_(whole[:, None]), ord=1, dim=-1)
        found[rows] = (torch.linalg.vector_norm(whole, ord=1, dim=-1)[:, None] - distance).clamp(min=0)
    total = found.sum(-1, keepdim=True)
    return torch.where(total > 0, found / total, 1 / len(found))


def bias(layer: Layer) -> Tensor:
    """Return what no position contributes to the states behind the first norm, `[size, width]`."""
    norm, output = layer.after_attention, layer.output.bias
    if norm is None:
        raise TypeError("ALTI is of layers that end in a norm")
    constant = torch.zeros_like(layer.inputs)
    if output is not None:
        constant = constant + norm.scale * (output - output.mean()) / norm.deviation[:, None]
    return constant if norm.shift is None else constant + norm.shift
