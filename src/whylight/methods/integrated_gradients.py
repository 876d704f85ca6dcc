"""Integrated gradients: the gradient collected on the straight way from a baseline to the text.

    a_i = sum over d of  (x_id - b_id)  integral over t in [0, 1] of  (d f / d x_id)(b + t (x - b)) dt

The baseline is the mask token (else unk, else pad) wherever a word stands; special tokens stay.
The integral is taken at Gauss-Legendre nodes.
Edin et al. 2024's code leaves out the factor (x - b), and so ranks by the size of the mean gradient.
Reference: Sundararajan et al. 2017. Cost: `steps` + 2 forward passes, `steps` backward passes per target.
Sums to f(x) - f(b) up to the quadrature's error, which the receipt carries.
"""

import numpy as np
import torch
from torch import Tensor

from whylight.core.errors import SettingError
from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.views.gradient import Baseline, GradientView
from whylight.views.positions import Pooling


@method(
    cite="sundararajan2017",
    signed=True,
    cost="52 forward, 50 backward",
    good_for="a sound start for models with gradients: signs, and a sum that can be checked",
    aliases=("ig",),
    complete=True,
)
def integrated_gradients(
    view: GradientView, *, steps: int = 50, baseline: Baseline = "auto", pooling: Pooling = "sum"
) -> Scores:
    """Collect gradients on the straight way from nothing to the input."""
    start = view.baseline(baseline)
    way = view.inputs - start
    nodes, weights = gauss_legendre(steps, way)

    def path(indices: Tensor) -> tuple[Tensor, Tensor]:
        return torch.addcmul(start, nodes[indices, None, None], way), weights[indices, None, None]

    return view.complete(way * view.weighted_gradients(steps, path), pooling, baseline)


def gauss_legendre(steps: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return the nodes in [0, 1] and the weights, which sum to 1, of Gauss-Legendre quadrature."""
    if steps < 1:
        raise SettingError(f"the setting 'steps' must be at least 1, not {steps}.")
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    return torch.as_tensor((nodes + 1) / 2).to(like), torch.as_tensor(weights / 2).to(like)
