"""DeepLIFT: differences from a baseline, propagated by the rescale rule.

    a_i = sum over d of  (x_id - b_id) m_id,

m the gradient of f at x in which every elementwise activation (GELU, tanh, ...) has the slope of the line from baseline
to input. Attention and normalisation keep their own gradient: the rule has no answer for them, so that scores need not
sum to f(x) - f(b). The receipt carries the gap.
Reference: Shrikumar et al. 2017. Cost: 4 forward passes, 2 backward passes per target.
Captum's rules fire on none of the activations of Hugging Face models: what it returns there is gradient x (x - b).
"""

import torch

from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.views.gradient import Baseline, GradientView
from whylight.views.positions import Pooling


@method(
    cite="shrikumar2017",
    signed=True,
    cost="4 forward, 2 backward",
    good_for="scores like those of integrated gradients, for far fewer passes",
    complete=True,
    tried=True,
)
def deeplift(view: GradientView, *, baseline: Baseline = "auto", pooling: Pooling = "sum") -> Scores:
    """Propagate the difference from nothing through the activations."""
    start = view.baseline(baseline)
    multipliers = view.gradients(torch.stack([view.inputs, start]), rule="rescale")[:, 0]
    return view.complete((view.inputs - start) * multipliers, pooling, baseline)
