"""Sequential integrated gradients beside a loop over tokens with 50 batched points each."""

from functools import partial

import numpy as np
import torch
from clock import Result, at_least, at_most, medians
from subjects import bundled
from torch import Tensor

from whylight.core.example import Example
from whylight.core.labels import Target
from whylight.methods._paths import gauss_legendre
from whylight.methods.sequential_integrated_gradients import sequential_integrated_gradients
from whylight.views.classifier import Request
from whylight.views.gradient import GradientView
from whylight.views.positions import Pooling, pool

TEXT = "The first hour is a quiet marvel: patient, funny and beautifully shot, but then the story loses its nerve."
STEPS = 50
REFERENCE_STEPS = 200


def token_loop(view: GradientView, steps: int) -> Tensor:
    """Integrate for one token after the other, its points in one batch; returns `[1, positions, dims]`."""
    start = view.baseline()
    way = view.inputs - start
    nodes, weights = gauss_legendre(steps, way)
    values = torch.zeros_like(way)
    for position in view.positions.content.nonzero()[:, 0].tolist():
        points = view.inputs.repeat(steps, 1, 1)
        points[:, position] = start[position] + nodes[:, None] * way[position]
        gradients = view.gradients(points)[0, :, position]
        values[position] = (weights[:, None] * gradients).sum(0) * way[position]
    return values[None]


def sequential() -> list[Result]:
    """Time both, and measure the error against 200 points, for the signed default and for the norm."""
    classifier = bundled()
    encoded = classifier.encode(Example(TEXT), unit="word", long="window")
    view = classifier.gradient_view(encoded, Request((Target(1, "positive"),), "logit"))
    poolings: tuple[Pooling, ...] = ("sum", "l2")
    ours = [partial(sequential_integrated_gradients, view, pooling=pooling) for pooling in poolings]
    loop, *times = medians([partial(token_loop, view, STEPS), *ours], rounds=3)
    reference = token_loop(view, REFERENCE_STEPS)
    results = []
    for pooling, work, time in zip(poolings, ours, times, strict=True):
        right = view.to_features(pool(reference, pooling))
        error = float(np.abs(work() - right).max() / np.abs(right).max())
        detail = f"{time:.2f} s, loop {loop:.2f} s"
        results.append(at_least(f"sequential IG ({pooling}), token loop / ours", loop / time, 4.0, detail))
        results.append(at_most(f"sequential IG ({pooling}), error against 200 points", error, 0.01))
    return results
