"""Sequential integrated gradients beside a loop over tokens with 50 batched points each."""

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

TEXT = "The first hour is a quiet marvel: patient, funny and beautifully shot, but then the story loses its nerve."


def token_loop(view: GradientView, steps: int) -> Tensor:
    """Integrate for one token after the other, its points in one batch."""
    start = view.baseline()
    way = view.inputs - start
    nodes, weights = gauss_legendre(steps, way)
    scores = torch.zeros(len(way))
    for position in view.positions.content.nonzero()[:, 0].tolist():
        points = view.inputs.repeat(steps, 1, 1)
        points[:, position] = start[position] + nodes[:, None] * way[position]
        gradients = view.gradients(points)[0, :, position]
        scores[position] = ((weights[:, None] * gradients).sum(0) * way[position]).sum()
    return scores[None]


def sequential() -> list[Result]:
    """Time both, and measure the error against 200 points."""
    classifier = bundled()
    encoded = classifier.encode(Example(TEXT), unit="word", long="window")
    view = classifier.gradient_view(encoded, Request((Target(1, "positive"),), "logit"))
    loop, own = medians([lambda: token_loop(view, 50), lambda: sequential_integrated_gradients(view)], rounds=3)
    reference = view.to_features(token_loop(view, 200))
    error = np.abs(sequential_integrated_gradients(view) - reference).max() / np.abs(reference).max()
    return [
        at_least("sequential IG, token loop / ours", loop / own, 4.0, f"{own:.2f} s, loop {loop:.2f} s"),
        at_most("sequential IG, error against 200 points", float(error), 0.01, "largest error / largest score"),
    ]
