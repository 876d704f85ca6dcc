"""GlobEnc: norms of what each position contributes to each other behind both norms of a layer, multiplied up.

    T_i(x_j) = L_2 L_1 (sum over heads h of  A_h,ij (x_j W_V,h) W_O,h + [i = j] x_j)
    L x      = scale * (x - mean x) / deviation_i
    N_ij     = |T_i(x_j)|_2;     a = r N_L ... N_1

with r what the head reads of the last layer, and deviations of the true states. As published: the MLP and all biases
are left out, though the second deviation is that of the state with the MLP in it, and the product is of raw norms, with
neither identity nor row sums. Scores therefore have no scale. Not specific to a class, but in a model with label
attention r is the label's own attention: one row per target. `layer` l stops there, a = r N_l ... N_1, with the same r.

Defined for layers that end in a norm; others are refused by name.
Reference: Modarressi et al. 2022. Cost: two forward passes (three with label attention), and N^2 D heads per layer, in
blocks of rows.
The published code builds heads x N x N x D tensors in edited copies of BERT and ELECTRA.
"""

import torch
from torch import Tensor

from whylight.core.arrays import Floats
from whylight.core.registry import method
from whylight.methods._transformed import rolled, transformed
from whylight.views.layers import Layer
from whylight.views.trace import TraceView


@method(
    cite="modarressi2022",
    signed=False,
    cost="2 forward, n^2 products per layer",
    good_for="seeing how much of each word is left at the head, by norms; the same for every label",
    class_specific=False,
    layers="post_norm",
)
def globenc(trace: TraceView, *, layer: int | None = None) -> Floats:
    """Score each word by the norms of what it contributes to the head's position, layer after layer."""
    return rolled(trace, norms, layer=layer)


def norms(layer: Layer) -> Tensor:
    """Return N of one layer, `[size, size]`."""
    found = torch.empty_like(layer.attention[0])
    behind = (layer.after_attention, layer.after_mlp)
    for rows, parts in transformed(layer, norms=behind, value_bias=False):
        found[rows] = torch.linalg.vector_norm(parts, dim=-1)
    return found
