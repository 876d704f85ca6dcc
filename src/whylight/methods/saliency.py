"""Saliency: the size of the gradient at a word.

    a_i = || d f / d x_i ||

Reference: Simonyan et al. 2014; Li et al. 2016. Cost: one forward pass, one backward pass per target.
"""

from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.views.gradient import GradientView
from whylight.views.positions import Pooling


@method(
    cite="simonyan2014",
    signed=False,
    cost="1 forward, 1 backward",
    good_for="seeing what the model is sensitive to, in one pass",
)
def saliency(view: GradientView, *, pooling: Pooling = "l2") -> Scores:
    """Score each feature by the norm of the gradient there (of a word, at its embedding)."""
    return view.pooled(view.gradient(), pooling)
