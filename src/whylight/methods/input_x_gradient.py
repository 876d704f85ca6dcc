"""Input x gradient: the first-order share of a word in the score.

    a_i = sum over d of  x_id (d f / d x_id)

`pooling="l2"` is the norm that Edin et al. 2024 use, without sign.
Reference: Shrikumar et al. 2017. Cost: one forward pass, one backward pass per target.
"""

from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.views.gradient import GradientView
from whylight.views.positions import Pooling


@method(
    cite="shrikumar2017",
    signed=True,
    cost="1 forward, 1 backward",
    good_for="a quick look at many inputs, with signs",
    aliases=("ixg",),
)
def input_x_gradient(view: GradientView, *, pooling: Pooling = "sum") -> Scores:
    """Score each feature by its value (a word's embedding) times the gradient there."""
    return view.pooled(view.inputs * view.gradient(), pooling)
