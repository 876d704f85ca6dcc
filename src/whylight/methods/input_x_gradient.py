"""Input x gradient: the first-order share of a word in the score.

    a_i = sum over d of  x_id (d f / d x_id)

`pooling="l2"` is the norm that Edin et al. 2024 use, without sign.
Reference: Shrikumar et al. 2017. Cost: one forward pass, one backward pass a target.
"""

from whylight.core.arrays import Floats
from whylight.core.registry import method
from whylight.views.gradient import GradientView
from whylight.views.positions import Pooling, pool


@method(cite="shrikumar2017", signed=True)
def input_x_gradient(view: GradientView, *, pooling: Pooling = "sum") -> Floats:
    """Score each word by its embedding times the gradient there."""
    return view.to_features(pool(view.inputs * view.gradient(), pooling))
