"""AttGrad: attention times the size of the score's gradient with respect to it.

    a_i = mean over heads of  A_ri |d f / d A_ri|,   last layer, r the row that the head reads

Reference: Serrano and Smith 2019; Edin et al. 2024. Cost: one forward pass, one backward pass a target.
"""

import torch

from whylight.core.arrays import Floats
from whylight.core.registry import method
from whylight.views.trace import TraceView


@method(cite="edin2024", signed=False)
def attgrad(trace: TraceView) -> Floats:
    """Score each word by its attention and by how much that attention matters to the score."""
    weighted = (trace.attention[-1] * trace.attention_gradient().abs()).mean(1)  # [targets, positions, positions]
    return trace.to_features(torch.einsum("r,tri->ti", trace.pool, weighted))
