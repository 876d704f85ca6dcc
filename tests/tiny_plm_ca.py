"""Small PLM-CA networks and documents for them, and a look at their word embeddings."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

import tiny
from whylight.models.networks import PlmCaForSequenceClassification
from whylight.models.networks.label_attention import DECODERS

ENCODERS = ("bert", "roberta", "distilbert", "electra", "modernbert")
ATTENTIONS = tuple(DECODERS)
CHUNK = 8
LABELS = [f"label {number}" for number in range(5)]
WORD_IDS = (5, 100)
"""Ids of the tiny tokenizers that are neither special nor padding."""


def network(architecture: str = "bert", *, dtype: torch.dtype = torch.float64, **settings: Any) -> Any:
    """A tiny network whose weights are large enough that attention is far from even."""
    torch.manual_seed(0)
    settings = {"labels": LABELS, "chunk_size": CHUNK, "label_block": 2, **settings}
    built = PlmCaForSequenceClassification.from_encoder(tiny.model(architecture), **settings)
    with torch.no_grad():
        for parameter in built.decoder.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return built.to(dtype)


def documents(*lengths: int, width: int | None = None, pad: int = 0) -> tuple[Tensor, Tensor]:
    """Random documents of some lengths as one padded batch: ids and mask."""
    generator = torch.Generator().manual_seed(sum(lengths))
    ids = torch.randint(*WORD_IDS, (len(lengths), width or max(lengths)), generator=generator)
    mask = torch.arange(ids.shape[1]) < torch.tensor(lengths)[:, None]
    return ids.where(mask, pad), mask.long()


@contextmanager
def embedded(model: Any, replacement: Tensor | None = None) -> Iterator[list[Tensor]]:
    """Collect what the word-embedding module gives out, or put something else in its place."""
    seen: list[Tensor] = []

    def hook(_module: object, _args: object, output: Tensor) -> Tensor | None:
        seen.append(output)
        return replacement

    handle = model.get_input_embeddings().register_forward_hook(hook)
    try:
        yield seen
    finally:
        handle.remove()
