"""Attention supervision (B_S): let each label attend to its own evidence.

    L = mean over pairs (text, label) with evidence of KL(e || A),  e = 1 / |E| on evidence tokens

A is the label's attention, or the row of the last layer that the head reads. Evidence and attention meet by the id of
the label, and padding has no attention.

The published code orders evidence by a note's list of codes and attention by class id, so that the evidence of one code
can teach another, and it averages over codes x tokens, which makes its weight of 2.5 tiny.
Reference: Edin et al. 2024, section 3.3. Cost: attention is recorded.
"""

import torch
from torch import Tensor

from whylight.core.registry import objective
from whylight.objectives._rationale import marked, share
from whylight.views.step import Step

SMALLEST = 1e-30
"""A label that ignores its evidence altogether is as wrong as float32 can say, and no more."""


@objective(cite="edin2024", weight=1.0, needs=("attention", "rationale"))
def attention_supervision(step: Step) -> Tensor:
    """Teach each label to attend to its own evidence."""
    pairs = marked(step.batch)
    attention, target = step.pair_attention()[pairs], share(step.batch.evidence[pairs])
    if not len(pairs):
        return attention.sum()
    divergence = torch.xlogy(target, target) - target * attention.clamp(min=SMALLEST).log()
    return divergence.sum(-1).mean()
