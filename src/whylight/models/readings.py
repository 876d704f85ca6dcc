"""How heads read states: the head of an ordinary classifier, and the label attention of PLM-CA."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor

from whylight.core.labels import Head as HeadKind
from whylight.models.anatomy import encoder_of, head_of
from whylight.models.networks.label_attention import LaatAttention
from whylight.models.networks.plm_ca import PlmCaForSequenceClassification
from whylight.models.recording import affine, head_steps, layer_norm, norm, precise, record
from whylight.models.unchanged import unchanged
from whylight.views.layers import Affine, HeadReading, IndependentBlock, Operation, Recorded

PASSES = 2
"""Passes that a record takes: one that notes what enters the layers, and each layer once more when it is looked at."""


def record_row(model: Any, run: Callable[[], Tensor], *, columns: Sequence[int], head: HeadKind) -> Recorded:  # noqa: ANN401
    """Record one row of an ordinary classifier.

    Args:
        model: The model.
        run: Sends the row through the model and returns its logits `[1, labels]`.
        columns: The columns of the targets.
        head: How logits are read.
    """
    block, logits = record(model, model.base_model, run)
    chosen, sign = _chosen(columns, head, logits.device)
    answers = precise(logits[0])[chosen] * sign
    read = _head_reading(model)
    return Recorded((block,), read, torch.zeros_like(chosen), chosen, sign, answers)


def record_document(
    model: PlmCaForSequenceClassification,
    runs: Sequence[Callable[[], Tensor]],
    *,
    columns: Sequence[int],
    head: HeadKind,
) -> Recorded:
    """Record one document of a PLM-CA network, each chunk as a block.

    Args:
        model: The network.
        runs: Each sends one chunk, without padding, through the encoder.
        columns: The columns of the targets.
        head: How logits are read.
    """
    recorded = [record(model, model.encoder, run) for run in runs]
    labels, sign = _chosen(columns, head, model.device)
    with unchanged(model), torch.no_grad():
        hidden = torch.cat([hidden for _, hidden in recorded], dim=1)
        logits, _ = model.decode(hidden, torch.ones_like(hidden[..., 0]), labels=labels)
    blocks: tuple[IndependentBlock, ...] = tuple(block for block, _ in recorded)
    read = _label_reading(model, labels)
    own = torch.arange(len(labels), device=labels.device)
    return Recorded(blocks, read, own, torch.zeros_like(own), sign, precise(logits[0]) * sign)


def _chosen(columns: Sequence[int], head: HeadKind, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the model's logit that each target is about, and its sign: a binary head's z is read as -z and z."""
    index = torch.as_tensor(list(columns), device=device)
    if head == "binary":
        return torch.zeros_like(index), 2 * index - 1
    return index, torch.ones_like(index)


def _head_reading(model: Any) -> Callable[[Tensor], HeadReading]:  # noqa: ANN401  any transformers model
    head, final = head_of(model), encoder_of(model).final_norm
    parts = [attrgetter(part)(model) if isinstance(part, str) else part for part in head.steps]
    mean = head.pooling is not None and getattr(model.config, head.pooling) == "mean"

    def read(states: Tensor) -> HeadReading:
        rows = torch.full_like(states[:, 0], 1 / len(states)) if mean else torch.eye(1, len(states)).to(states)[0]
        module = None if final is None else attrgetter(final)(model.base_model)
        normed = states if module is None else layer_norm(module, states)
        own = None if module is None else norm(module, states)
        return HeadReading(own, rows[None], head_steps(parts, rows[None] @ normed))

    return read


def _label_reading(model: PlmCaForSequenceClassification, labels: Tensor) -> Callable[[Tensor], HeadReading]:
    final = encoder_of(model).final_norm

    def read(states: Tensor) -> HeadReading:
        module = None if final is None else attrgetter(final)(model.encoder)
        normed = states if module is None else layer_norm(module, states)
        own = None if module is None else norm(module, states)
        with unchanged(model), torch.no_grad():
            hidden = normed[None].to(model.dtype)
            _, attention = model.decode(
                hidden, torch.ones_like(hidden[..., 0]), labels=labels, output_label_attention=True
            )
        if attention is None:
            raise TypeError(type(model.decoder))
        rows = precise(attention[0])
        return HeadReading(own, rows, _decoder_steps(model.decoder, rows @ normed, labels))

    return read


def _decoder_steps(decoder: Any, whole: Tensor, labels: Tensor) -> tuple[Operation, ...]:  # noqa: ANN401
    """Return the steps behind the labels' attention, whose rows sum to 1: values are taken of what was read."""
    if isinstance(decoder, LaatAttention):
        every = affine(decoder.output)
        bias = None if every.bias is None else every.bias[labels, None]
        return (Affine(every.weight[labels, None], bias),)
    return head_steps([decoder.value, decoder.norm, decoder.output], whole)
