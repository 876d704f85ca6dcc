"""Rationale on rollout: attention rolled out through all layers is to lie on what people marked.

    a = R[CLS],  R = product over layers of row-normalised (A + I),  t = 1 / |E|,  L = mean absolute error over tokens

Texts without a rationale are left out.
Reference: Ferreira et al., section 3; Abnar and Zuidema 2020. Cost: attention is recorded.
"""

from torch import Tensor

from whylight.core.registry import objective
from whylight.objectives._rationale import Criterion, distance, marked, share
from whylight.views.step import Step


@objective(cite="ferreira2025", needs=("attention", "rationale"))
def rationale_rollout(step: Step, *, criterion: Criterion = "mae") -> Tensor:
    """Pull rolled-out attention towards the rationale."""
    pairs = marked(step.batch)
    mask = step.batch.mask[step.batch.pair_example[pairs]]
    return distance(step.pair_rollout()[pairs], share(step.batch.evidence[pairs]), mask, criterion)
