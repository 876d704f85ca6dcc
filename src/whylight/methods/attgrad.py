"""AttGrad: attention times the size of the score's gradient with respect to it.

    a_i = mean over heads of  A_ri |d f / d A_ri|,   last layer, r the row that the head reads

In a model with label attention A is the label's own.
Reference: Serrano and Smith 2019; Edin et al. 2024. Cost: one forward pass, one backward pass per target.
"""

from whylight.core.arrays import Floats
from whylight.core.registry import method
from whylight.views.trace import TraceView


@method(
    cite="edin2024",
    signed=False,
    cost="1 forward, 1 backward",
    good_for="attention that matters to the label, in one pass",
)
def attgrad(trace: TraceView) -> Floats:
    """Score each feature by its attention and by how much that attention matters to the score."""
    return trace.to_features(trace.shares @ (trace.rows * trace.row_gradient().abs()))
