"""Rationale on input x gradient: what moves the true label's logit is to be what people marked.

    g_i = sum_d x_id dy/dx_id,  a = |g| / ||g||_2,  t = 1 on marked tokens, else 0,  L = mean absolute error over tokens

All texts count, also those without a rationale (their target is 0), as in the paper's code.
Reference: Ferreira et al., section 3. Cost: a second backward pass through the first.
"""

import torch
from torch import Tensor

from whylight.core.registry import objective
from whylight.objectives._rationale import Criterion, distance
from whylight.views.step import Step

SMALLEST = 1e-12


@objective(cite="ferreira2025", needs=("double_backward", "rationale"))
def rationale_gradient(step: Step, *, criterion: Criterion = "mae") -> Tensor:
    """Pull input x gradient of the true label towards the rationale."""
    mask = step.batch.mask[step.batch.pair_example]
    moved = step.pair_input_x_gradient() * mask
    maps = moved.abs() / (moved.square().sum(-1, keepdim=True) + SMALLEST).sqrt()
    return distance(maps, step.batch.evidence.to(torch.float32), mask, criterion)
