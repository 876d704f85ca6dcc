"""A batch in front of a tiny network, for tests of objectives."""

from typing import Any

import numpy as np
import torch

import tiny
import tiny_plm_ca
from whylight.models.trainable import network
from whylight.training.batches import Collator, Item, batch_of
from whylight.views.step import Step, TrainingBatch

LENGTHS = (9, 6, 7)


def batch(*, labels: int = 2, multi_label: bool = False, vocabulary: int = 40, seed: int = 0) -> TrainingBatch:
    """Three texts of different lengths; the first two have evidence, the last has none."""
    generator = np.random.default_rng(seed)
    items = []
    for number, length in enumerate(LENGTHS):
        ids = generator.integers(6, vocabulary, size=length)
        content = np.ones(length, dtype=bool)
        content[[0, -1]] = False
        own = tuple(generator.permutation(labels)[: 2 if multi_label else 1].tolist())
        evidence = np.zeros((len(own), length), dtype=bool)
        if number < 2:
            for row in range(len(own)):
                evidence[row, generator.choice(np.arange(1, length - 1), size=2, replace=False)] = True
        items.append(Item(ids, np.zeros(length, dtype=np.int64), content, own, evidence))
    return batch_of(Collator(0, labels, multi_label)(items))


def step(architecture: str = "bert", *, double: bool = True, attention: bool = True, **options: Any) -> Step:
    """A step of a tiny classifier in float64, without dropout."""
    if architecture == "plm_ca":
        model = tiny_plm_ca.network(chunk_size=4)
        own = batch(labels=5, multi_label=True, **options)
    else:
        model = tiny.model(architecture)
        own = batch(**options)
    model.set_attn_implementation("eager")
    return Step(network(model.double() if double else model, mask_id=4), own, training=False, attention=attention)


def parameters(one: Step) -> list[torch.nn.Parameter]:
    model: Any = one.network.model  # type: ignore[attr-defined]
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
