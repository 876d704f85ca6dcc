"""Attention rollout: attention followed through all layers, the residual connection counted as attention to oneself.

    R = B_L ... B_1,   B_l = row-normalised (A_l + I) / 2,   a = r R,   r what the head reads of the last layer

Not specific to a class, but in a model with label attention r is the label's own attention: one row per target. There a
layer is a block per chunk, so that no matrix over the whole document is built.

`layer` l stops there, a = r B_l ... B_1: what has reached the positions that the head reads, once l layers are done.
Reference: Abnar and Zuidema 2020. Cost: one forward pass; with label attention two.
Edin et al. 2024's code adds I / 2 without normalising rows, and takes a softmax over the wrong axis.
"""

from whylight.core.arrays import Floats
from whylight.core.registry import method
from whylight.methods._layers import follow, up_to, with_residual
from whylight.views.trace import TraceView


@method(
    cite="abnar2020",
    signed=False,
    cost="1 forward",
    good_for="seeing what reaches the head through all layers",
    class_specific=False,
)
def attention_rollout(trace: TraceView, *, layer: int | None = None) -> Floats:
    """Score each feature by how much attention reaches it through all layers."""
    layers = [with_residual(one) for one in up_to(trace.layers(), layer)]
    return trace.to_features(follow(layers, trace.start))
