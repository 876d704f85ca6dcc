"""Guided backpropagation: a gradient of which only what is positive passes a rectifier.

    at y = max(0, x):   d f / d x := [x > 0] max(0, d f / d y)        a_i = || d f / d x_i ||, by that rule

A ReLU6 is gated the same way, between its two bends. Other activations keep their own gradient; a network without any
rectifier is refused. What comes out looks sharp, and depends on the picture more than on the label: rows of two labels
often differ little (Adebayo et al. 2018), which `whylight sanity` shows.

Reference: Springenberg et al. 2015. Cost: one forward pass, one backward pass per target.
"""

from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.views.gradient import GradientView
from whylight.views.positions import Pooling


@method(
    cite="springenberg2015",
    signed=False,
    cost="1 forward, 1 backward",
    good_for="fine lines of what a convolutional network sees, less why it decides",
    tried=True,
)
def guided_backprop(view: GradientView, *, pooling: Pooling = "l2") -> Scores:
    """Score each pixel by the gradient of which only positive parts pass rectifiers."""
    return view.pooled(view.gradients(view.inputs[None], rule="guided")[:, 0], pooling)
