"""Transition attention maps: attention as a Markov chain from the head down, weighted by an integrated gradient.

    s_L = r A_L,   s_l = s_(l+1) + s_(l+1) A_l          A_l: mean over heads; r: what the head reads of the last layer
    a = s_1 * max(0, mean over k of  d f(x_k) / d A_L) r,   x_k = nothing + k / (steps - 1) (x - nothing)

The gradient is that of the last layer's attention, mean over heads, along a straight way from the mean colour to the
picture. `first_layer` l ends the chain there (the published code ends it at the fifth of twelve layers for one model,
and at the first for others).

Reference: Yuan et al. 2021. Cost: `steps` forward passes, `steps` backward passes per target, and one forward pass.
The published code cuts the mean gradient of each head below 0 before heads are averaged, as is done here.
"""

import torch

from whylight.core import progress
from whylight.core.arrays import Floats
from whylight.core.errors import SettingError
from whylight.core.registry import method
from whylight.views.trace import TraceView


@method(
    cite="yuan2021",
    signed=False,
    cost="21 forward, 20 backward",
    good_for="which patches a vision transformer takes a label from, over a way from nothing to the picture",
)
def transition_attention_maps(trace: TraceView, *, steps: int = 20, first_layer: int = 1) -> Floats:
    """Score each patch by attention that flows to it, and by the label's integrated gradient."""
    if steps < 1:
        raise SettingError(f"the setting 'steps' must be at least 1, not {steps}.")
    layers = trace.layers()
    if not 1 <= first_layer <= len(layers):
        raise SettingError(f"there is no layer {first_layer}: this model has {len(layers)}, counted from 1.")
    deeper = trace.deeper
    state = trace.start @ layers[-1][0]  # [1, positions]
    for layer in reversed(layers[first_layer - 1 : -1]):
        state = state + state @ layer[0]
    progress.expect(steps)
    total = torch.zeros(())
    for step in range(steps):
        total = total + deeper.faded(step / (steps - 1) if steps > 1 else 1.0).attention_gradient()
        progress.advance(1)
    by_head = (total / steps).clamp(min=0).mean(1)  # [targets, positions, positions]
    return trace.to_features(state * torch.einsum("ri,tij->tj", trace.start, by_head))
