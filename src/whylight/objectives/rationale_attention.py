"""Rationale on attention: the top layer's attention is to lie on what people marked.

    a = softmax over tokens of 100 A,  t = 1 / |E| on marked tokens,  L = mean absolute error over tokens

A is the mean over heads of the last layer on the rows that the head reads (CLS), or the label's own attention. Texts
without a rationale are left out.
Reference: Ferreira et al., section 3; `criterion` kl and bce are ER-Test's (Joshi et al. 2022). Cost: attention is
recorded.
"""

from torch import Tensor

from whylight.core.registry import objective
from whylight.objectives._rationale import Criterion, distance, marked, share
from whylight.views.step import Step


@objective(cite="ferreira2025", needs=("attention", "rationale"))
def rationale_attention(step: Step, *, criterion: Criterion = "mae", scale: float = 100.0) -> Tensor:
    """Pull the top layer's attention towards the rationale."""
    pairs = marked(step.batch)
    mask = step.batch.mask[step.batch.pair_example[pairs]]
    sharpened = (scale * step.pair_attention()[pairs]).masked_fill(~mask, float("-inf"))
    return distance(sharpened.softmax(-1), share(step.batch.evidence[pairs]), mask, criterion)
