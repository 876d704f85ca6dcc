"""Grad-CAM: maps of a late layer, each weighted by how much the class gains from it on average.

    alpha_k = mean over places of  d score / d A_k          cam = max(0, sum over k of  alpha_k A_k)

A_k are the maps of the last layer whose places still matter, which the receipt names, and cam is enlarged to the
picture by linear interpolation. It is as coarse as these maps are.

Reference: Selvaraju et al. 2017. Cost: 1 forward and 1 backward pass per target.
"""

from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.views.activations import ActivationView


@method(
    cite="selvaraju2017",
    signed=False,
    cost="1 forward, 1 backward",
    good_for="where in a picture a class is, at a glance",
)
def grad_cam(view: ActivationView) -> Scores:
    """Weight the maps of a late layer by how much the class gains from each."""
    weights = view.gradients.mean(dim=(2, 3))  # [targets, channels]
    fields = (weights[..., None, None] * view.maps).sum(1).clamp(min=0)
    return Scores(view.to_features(fields), notes=(f"maps of the layer '{view.layer}'",))
