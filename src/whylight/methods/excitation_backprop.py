"""Excitation backpropagation: how likely a random walk from the label's logit down to the picture ends at a pixel.

    P(a_j) = sum over i of  P(a_j | a_i) P(a_i)        P(a_j | a_i) = a_j max(0, w_ij) / sum over k of a_k max(0, w_ik)

The walk starts at the logit and goes from a unit i to one of the units that excite it. Units are what rectifiers and
pools give out, and the colours of pixels, which are all 0 or more (`models/excitation.py` says how batch norms, sums of
two branches and pools are walked through). Scores of one target add up to 1 at most; a walk that comes to a unit that
nothing excites, because its bias alone does, ends there.

Reference: Zhang et al. 2018, who show maps of a layer in the middle; here the walk goes on to the pixels, and
`--unit patch` adds up what belongs together. Cost: one forward pass, one backward pass per target.
"""

from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.views.gradient import GradientView
from whylight.views.positions import pool


@method(
    cite="zhang2018",
    signed=False,
    cost="1 forward, 1 backward",
    good_for="where in a picture a convolutional network finds a class",
    scores=("logit",),
    tried=True,
)
def excitation_backprop(view: GradientView) -> Scores:
    """Score each pixel by how likely a walk along what excites the label ends there."""
    winning = view.gradients(view.inputs[None], rule="excitation")[:, 0]
    return Scores(view.to_features(pool(winning, "l1")))
