"""Recording attention: one pass with step-by-step attention, and the row of it that the head reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from whylight.core.errors import IncompatibleError
from whylight.models.lookups import word_embeddings
from whylight.models.unchanged import eager_attention, is_block_sparse

ROWS = 0.05
"""By how much a row of attention may miss 1, in half precision."""


@contextmanager
def recording(model: Any) -> Iterator[None]:  # noqa: ANN401  any transformers model
    """Run a model so that it hands out its attention; what cannot be read is refused."""
    if is_block_sparse(model.modules()):
        raise IncompatibleError(
            "block-sparse attention has no attention matrix; load the model with attention_type='original_full'."
        )
    with eager_attention(model):
        yield


@contextmanager
def leaf_embeddings(model: Any) -> Iterator[None]:  # noqa: ANN401  any transformers model
    """Let the graph start at the word embeddings, because the parameters are frozen."""
    with torch.enable_grad(), word_embeddings(model, lambda out: out.detach().requires_grad_(True)):  # noqa: FBT003
        yield


def check_attentions(attentions: tuple[Tensor | None, ...] | None, model: Any) -> None:  # noqa: ANN401  any transformers model
    """Refuse a model that recorded no attention."""
    if not attentions or attentions[0] is None:
        raise IncompatibleError(f"'{type(model).__name__}' does not give out its attention weights.")


def check_rows(attentions: tuple[Tensor | None, ...] | None, model: Any, *, size: int) -> None:  # noqa: ANN401
    """Refuse a model whose attention is not, in every layer, a distribution over its positions.

    Args:
        attentions: One tensor a layer, `[1, heads, positions, positions]`.
        model: The model.
        size: Number of positions.
    """
    check_attentions(attentions, model)
    for layer in attentions or ():
        shape = None if layer is None else tuple(layer.shape[-2:])
        if layer is None or shape != (size, size):
            raise IncompatibleError(
                f"the attention of '{type(model).__name__}' is not from every token to every token in all layers."
            )
        rows = layer.detach().float()
        if float((rows.sum(-1) - 1).abs().max()) > ROWS or float(rows.min()) < 0:
            raise IncompatibleError(f"the attention of '{type(model).__name__}' is not a distribution over the tokens.")


def pooled_rows(output: Any) -> Tensor:  # noqa: ANN401  a transformers output
    """Return how much of each position the head reads, `[positions]`, sums to 1.

    Found from the model itself: the head reads the positions of the last hidden state whose gradient is not zero. That
    is CLS, the last token, or all of them alike, whatever the architecture calls it.
    """
    weights = torch.arange(1, output.logits.shape[-1] + 1, device=output.logits.device, dtype=output.logits.dtype)
    with torch.enable_grad():
        mixture = (output.logits * weights).sum()
    gradient: Tensor | None = torch.autograd.grad(
        mixture, output.hidden_states[-1], retain_graph=True, allow_unused=True
    )[0]
    if gradient is None or not bool(gradient[0].any()):
        raise IncompatibleError(
            "the head of this model does not read its last hidden state, so that no attention row is its own."
        )
    read: Tensor = gradient[0].abs().sum(-1) > 0
    return read.to(gradient.dtype) / read.sum()


def last_layer_gradient(attention: Tensor, scores: Tensor) -> Tensor:
    """Return d score / d attention, `[targets, heads, positions, positions]`, for attention `[1, heads, ...]`."""
    return torch.stack([torch.autograd.grad(score, attention, retain_graph=True)[0][0] for score in scores])
