"""Attention attribution: attention of every layer, weighted by how much the label gains from it, followed to the input.

    B_l = row-normalised ( I + mean over heads of  max(0, A_l * d f / d A_l) ),   a = r B_L ... B_1

r is what the head reads of the last layer, and I the residual connection, as in attention rollout; the gradient makes
rows specific to a label.

Reference: Chefer et al. 2021 ("Generic attention-model explainability"). Their earlier paper ("Transformer
interpretability beyond attention visualization") has the relevance of attention by layer-wise propagation in the place
of A_l; the later one found that attention itself does as well, and asks for no rule per layer of a network.
Cost: one forward pass, one backward pass per target.
"""

import torch
from torch import Tensor

from whylight.core.arrays import Floats
from whylight.core.registry import method
from whylight.views.trace import TraceView


@method(
    cite="chefer2021",
    signed=False,
    cost="1 forward, 1 backward",
    good_for="which patches a vision transformer takes a label from, in one pass",
)
def attention_attribution(trace: TraceView) -> Floats:
    """Score each patch by attention that speaks for the label, followed through all layers."""
    gradients = trace.deeper.gradients()
    rows = trace.start.expand(len(gradients[0]), -1)  # [targets, positions]
    for attention, gradient in zip(reversed(trace.attention), reversed(gradients), strict=True):
        rows = torch.einsum("ti,tij->tj", rows, _with_itself((attention * gradient).clamp(min=0).mean(1)))
    return trace.to_features(rows)


def _with_itself(matrices: Tensor) -> Tensor:
    """Return the row-normalised I + M of matrices `[targets, size, size]`."""
    mixed = matrices + torch.eye(matrices.shape[-1]).to(matrices)
    return mixed / mixed.sum(-1, keepdim=True)
