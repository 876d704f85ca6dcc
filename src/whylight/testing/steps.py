"""A training batch in front of a tiny network, in double precision: what objectives are checked on."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from whylight.models.trainable import network
from whylight.testing.tiny import tiny_model, tiny_tokenizer
from whylight.training.batches import Collator, TrainingItem, batch_of
from whylight.views.step import Step, TrainingBatch

LENGTHS = (9, 6, 7)
MARKED = 2
"""Texts with evidence; the last one has none. Also how many tokens of each are marked."""
FIRST_WORD = 6
"""Ids below this are special tokens."""


def made_up_batch(
    *, labels: int = 2, multi_label: bool = False, vocabulary: int = 40, seed: int = 0, repeated: int = 1
) -> TrainingBatch:
    """Return texts of different lengths, some with evidence.

    Args:
        labels: Number of labels.
        multi_label: Whether a text has two of them.
        vocabulary: Number of different tokens.
        seed: Same seed, same batch.
        repeated: How often the texts stand in the batch.
    """
    items = made_up_items(labels=labels, multi_label=multi_label, vocabulary=vocabulary, seed=seed)
    return batch_of(Collator(0, labels, multi_label)([*items] * repeated))


def made_up_items(*, labels: int, multi_label: bool, vocabulary: int, seed: int) -> list[TrainingItem]:
    """Return the texts of a batch one by one."""
    generator = np.random.default_rng(seed)
    items = []
    for number, length in enumerate(LENGTHS):
        ids = generator.integers(FIRST_WORD, vocabulary, size=length)
        content = np.ones(length, dtype=bool)
        content[[0, -1]] = False
        own = tuple(generator.permutation(labels)[: 2 if multi_label else 1].tolist())
        evidence = np.zeros((len(own), length), dtype=bool)
        if number < MARKED:
            for row in range(len(own)):
                evidence[row, generator.choice(np.arange(1, length - 1), size=MARKED, replace=False)] = True
        items.append(TrainingItem(ids, np.zeros(length, dtype=np.int64), content, own, evidence))
    return items


def step_of(model: Any, batch: TrainingBatch, *, needs: Sequence[str]) -> Step:  # noqa: ANN401  a transformers model
    """Return a step that offers what an objective declares to need, and nothing else."""
    own = network(model, mask_id=tiny_tokenizer().mask_token_id)
    teacher = own if "teacher" in needs else None
    return Step(own, batch, training=False, attention="attention" in needs, teacher=teacher)


def tiny_network() -> Any:  # noqa: ANN401  as above
    """Return the tiny network as a training has it: in double precision, its attention on show."""
    model = tiny_model(labels=2).double()
    model.set_attn_implementation("eager")
    return model


def padded(batch: TrainingBatch, by: int) -> TrainingBatch:
    """Return a batch with more padding on the right."""

    def wider(tokens: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(tokens, (0, by))

    types = None if batch.types is None else wider(batch.types)
    return replace(
        batch,
        ids=wider(batch.ids),
        mask=wider(batch.mask),
        content=wider(batch.content),
        evidence=wider(batch.evidence),
        types=types,
    )
