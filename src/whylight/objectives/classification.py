"""Classification: learn the labels.

    L = mean over examples of cross-entropy, or of binary cross-entropy averaged over labels

Cost: none beyond the pass itself.
"""

from torch import Tensor

from whylight.core.registry import objective
from whylight.views.step import Step


@objective(cite="", classifies=True)
def classification(step: Step) -> Tensor:
    """Learn the labels by (binary) cross-entropy."""
    return step.example_losses.mean()
