"""Attention: how much the head looks at a word.

    a_i = mean over heads of  A_ri,   last layer, r the row that the head reads (CLS, the last token, or the mean)

Not specific to a class, but in a model with label attention it is the label's own: one row a target.
Reference: the usual reading, e.g. Edin et al. 2024. Cost: one forward pass.
"""

from whylight.core.arrays import Floats
from whylight.core.registry import method
from whylight.views.trace import TraceView


@method(cite="edin2024", signed=False, class_specific=False)
def attention(trace: TraceView) -> Floats:
    """Score each word by the attention that the head pays to it."""
    return trace.to_features(trace.shares @ trace.rows)
