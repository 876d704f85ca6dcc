"""AttInGrad: attention, weighted by how much the word's embedding matters to the score.

    a_i = A_i || x_i * (d f / d x_i) ||_2

A_i is the attention of the row that the head reads, last layer, mean over heads; in a label-attention model it is the
label's own. Attention alone often falls on punctuation, the gradient alone is noisy; the product needs both.
Reference: Edin et al. 2024. Cost: two forward passes, one backward pass per target.
Their code takes x after position embedding and LayerNorm; here it is the word embedding, as in all gradient methods.
"""

from whylight.core.arrays import Floats
from whylight.core.errors import IncompatibleError
from whylight.core.registry import method
from whylight.views.gradient import GradientView
from whylight.views.positions import pool
from whylight.views.trace import TraceView


@method(
    cite="edin2024",
    signed=False,
    cost="2 forward, 1 backward",
    good_for="long texts with many labels, in two passes",
)
def attingrad(trace: TraceView, view: GradientView) -> Floats:
    """Score each word by attention times the norm of input x gradient."""
    looked_at = trace.shares @ trace.rows
    if looked_at.shape[1] != len(view.inputs):
        raise IncompatibleError("'attingrad' multiplies attention with gradients of the same tokens; use attgrad.")
    return view.to_features(looked_at * pool(view.inputs * view.gradient(), "l2"))
