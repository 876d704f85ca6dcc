"""What objectives on human rationales share: how far a map over tokens is from what people marked.

    mae: sum over pairs and tokens of |a - t| / number of real tokens of those pairs    (Ferreira et al.)
    kl:  mean over pairs of sum over tokens of t ln(t / a)
    bce: mean over real tokens of -t ln a - (1 - t) ln(1 - a)

Special tokens are part of a map, with target 0; padding is not.
"""

from typing import Literal

import torch
from torch import Tensor

from whylight.views.step import TrainingBatch

Criterion = Literal["mae", "kl", "bce"]
SMALLEST = 1e-6
"""Maps are kept this far from 0 and 1 where a logarithm is taken."""


def marked(batch: TrainingBatch) -> Tensor:
    """Return the numbers of the pairs that have evidence, `[pairs]`."""
    return torch.nonzero(batch.evidence.sum(-1) > 0)[:, 0]


def share(evidence: Tensor) -> Tensor:
    """Spread 1 evenly over the marked tokens of each row; an empty row stays empty."""
    return evidence / evidence.sum(-1, keepdim=True).clamp(min=1.0)


def distance(maps: Tensor, targets: Tensor, mask: Tensor, criterion: Criterion) -> Tensor:
    """Measure maps against targets over real tokens, all `[pairs, tokens]`; 0 without pairs."""
    if not len(maps):
        return maps.sum()
    if criterion == "mae":
        return ((maps - targets).abs() * mask).sum() / mask.sum()
    safe = maps.clamp(SMALLEST, 1 - SMALLEST)
    if criterion == "kl":
        return (torch.xlogy(targets, targets) - targets * safe.log()).masked_fill(~mask, 0.0).sum(-1).mean()
    each = -(targets * safe.log() + (1 - targets) * (1 - safe).log())
    return (each * mask).sum() / mask.sum()
