"""Gradient SHAP: integrated gradients at random points of the way, optionally from noisy copies of the text.

    a_i = mean over s of  sum over d of  (x_id + e_sid - b_id) (d f / d x_id)(b + t_s (x + e_s - b)),   t_s ~ U(0, 1)

Reference: Lundberg and Lee 2017; Erion et al. 2021.
Cost: `samples` + 2 forward passes, `samples` backward passes per target.
Sums to f(x) - f(b) in expectation; the receipt carries how far off the sample is.
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
    cite="erion2021",
    signed=True,
    cost="52 forward, 50 backward",
    good_for="integrated gradients that hang less on a single path",
    complete=True,
)
def gradient_shap(
    view: GradientView,
    *,
    samples: int = 50,
    noise: float = 0.0,
    baseline: Baseline = "auto",
    pooling: Pooling = "sum",
    seed: int = 0,
) -> Scores:
    """Average gradients at random points between nothing and the input."""
    if samples < 1:
        raise SettingError(f"the setting 'samples' must be at least 1, not {samples}.")
    if noise < 0:
        raise SettingError(f"the setting 'noise' must not be negative, not {noise:g}.")
    start = view.baseline(baseline)
    content = view.positions.content[:, None].to(start)
    shares = torch.as_tensor(np.random.default_rng(seed).random(samples)).to(start)

    def noise_of(sample: int) -> Tensor:  # a generator for each, so that batches do not matter
        drawn = np.random.default_rng((seed, sample)).standard_normal(tuple(start.shape))
        return noise * content * torch.as_tensor(drawn).to(start)

    def path(indices: Tensor) -> tuple[Tensor, Tensor]:
        way = (view.inputs - start).expand(len(indices), -1, -1)
        if noise:
            way = way + torch.stack([noise_of(sample) for sample in indices.tolist()])
        return start + shares[indices, None, None] * way, way / samples

    return view.complete(view.weighted_gradients(samples, path), pooling, baseline)
