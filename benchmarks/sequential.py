"""Sequential integrated gradients beside a loop over tokens with 50 batched points each.

The loop is ours: it does what the author's code does, with right embeddings and its points in one batch. Captum has no
sequential integrated gradients. So the ratios say what the formula saves, not that a peer is slow:

- pooled by `sum`, the integral is known: one forward pass per token against 50 forward and backward passes;
- pooled by a norm, most tokens are done with 8 nodes instead of 50.
"""

from functools import partial

import numpy as np
import torch
from clock import Result, at_least, at_most, take_turns
from subjects import bundled
from torch import Tensor

from whylight.core.labels import Target
from whylight.core.text import Text
from whylight.methods.integrated_gradients import gauss_legendre
from whylight.methods.sequential_integrated_gradients import sequential_integrated_gradients
from whylight.views.classifier import Request
from whylight.views.gradient import GradientView
from whylight.views.positions import Pooling, pool

TEXT = "The first hour is a quiet marvel: patient, funny and beautifully shot, but then the story loses its nerve."
STEPS = 50
WHY: dict[Pooling, str] = {
    "sum": f"structural: one forward pass per token against {STEPS} forward and backward",
    "l2": f"structural: 8 nodes for most tokens against {STEPS}, in common batches",
}
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
    encoded = classifier.encode(Text(TEXT), unit="word", long="window")
    view = classifier.gradient_view(encoded, Request((Target(1, "positive"),), "logit"))
    poolings: tuple[Pooling, ...] = ("sum", "l2")
    ours = [partial(sequential_integrated_gradients, view, pooling=pooling) for pooling in poolings]
    turns = take_turns([partial(token_loop, view, STEPS), *ours], rounds=3)
    reference = token_loop(view, REFERENCE_STEPS)
    results = []
    for number, (pooling, work) in enumerate(zip(poolings, ours, strict=True), start=1):
        right = view.to_features(pool(reference, pooling))
        error = float(np.abs(work() - right).max() / np.abs(right).max())
        detail = f"{turns.median(number):.2f} s, loop {turns.median(0):.2f} s; {WHY[pooling]}"
        name = f"sequential IG ({pooling}), a token loop of our own / ours"
        results.append(at_least(name, turns.ratio(0, number), 4.0, detail))
        results.append(at_most(f"sequential IG ({pooling}), error against 200 points", error, 0.01))
    return results
