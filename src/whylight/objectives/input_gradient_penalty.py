"""Input gradient regularisation (IGR): a loss that does not hang on single words.

    L = mean over examples of || d loss(x) / d X ||_2,  X the word embeddings of the example

`at="table"` is what the published code does: the gradient is taken by the embedding table, where repeated tokens add
up, and the norms of its rows are summed.
Reference: Edin et al. 2024, equation 4; Drucker and Le Cun 1992. Cost: a second backward pass through the first.
"""

from typing import Literal

import torch
from torch import Tensor

from whylight.core.registry import objective
from whylight.views.step import Step, gradient_of


@objective(cite="edin2024", weight=1e-5, needs=("double_backward",))
def input_gradient_penalty(step: Step, *, at: Literal["sequence", "table"] = "sequence") -> Tensor:
    """Penalise the norm of the loss's gradient by the input."""
    if at == "table":
        slopes = gradient_of(step.example_losses.mean(), step.network.embedding_table)
        rows: Tensor = torch.linalg.vector_norm(slopes, dim=-1)
        return rows.sum()
    squares = step.loss_gradient.square().sum((1, 2))
    whole = torch.zeros(len(step.batch.ids), dtype=squares.dtype, device=squares.device)
    norms = _safe_root(whole.index_add(0, step.passed.row_example, squares))
    return norms.mean()


def _safe_root(squares: Tensor) -> Tensor:
    """Take square roots; where there is no gradient at all, there is nothing to push down either."""
    some = squares > 0
    return torch.where(some, torch.where(some, squares, 1.0).sqrt(), 0.0)
