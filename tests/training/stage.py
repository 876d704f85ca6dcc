"""A batch in front of a tiny network, for tests of objectives."""

from typing import Any

import torch

import tiny
import tiny_plm_ca
from whylight.models.trainable import network
from whylight.testing.steps import made_up_batch as batch
from whylight.views.step import Step


def step(architecture: str = "bert", *, double: bool = True, attention: bool = True, **options: Any) -> Step:
    """A step of a tiny classifier in float64, without dropout."""
    if architecture == "plm_ca":
        built = tiny_plm_ca.network(chunk_size=4)
        own = batch(labels=5, multi_label=True, **options)
    else:
        built = tiny.model(architecture)
        own = batch(**options)
    built.set_attn_implementation("eager")
    return Step(network(built.double() if double else built, mask_id=4), own, training=False, attention=attention)


def model(one: Step) -> Any:
    return one.network.model  # type: ignore[attr-defined]


def parameters(one: Step) -> list[torch.nn.Parameter]:
    return [parameter for parameter in model(one).parameters() if parameter.requires_grad]
