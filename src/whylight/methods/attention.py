"""Attention: how much the head looks at a word.

    a_i = mean over heads of  A_ri,   last layer, r the row that the head reads (CLS, the last token, or the mean)

Not specific to a class, but in a model with label attention it is the label's own: one row per target.

`layer` l reads the attention of that layer instead, on the same row: a = r A_l. In a model with label attention r is
the label's own attention, followed into layer l: what the positions look at that the label looks at. There the label's
own attention stands above all layers, so that no layer equals the default; in other models the last one does.
Reference: the usual reading, e.g. Edin et al. 2024. Cost: one forward pass; with label attention and `layer` two.
"""

from whylight.core.arrays import Floats
from whylight.core.registry import method
from whylight.methods._layers import follow, up_to
from whylight.views.trace import TraceView


@method(
    cite="edin2024",
    signed=False,
    cost="1 forward",
    good_for="seeing where the model looks, which need not be why it decides",
    class_specific=False,
)
def attention(trace: TraceView, *, layer: int | None = None) -> Floats:
    """Score each feature by the attention that the head pays to it."""
    if layer is None:
        return trace.to_features(trace.shares @ trace.rows)
    return trace.to_features(follow(up_to(trace.layers(), layer)[-1:], trace.start))
