"""Sequential integrated gradients: one token at a time travels from the baseline, the others stay as they are.

    a_i = pool over d of  (x_id - b_id)  integral over t in [0, 1] of  (d f / d x_id)(x with x_i := b_i + t (x_i - b_i))

Pooled by `sum`, the integral is that of a derivative along the token's own path, and so is known without taking it:

    a_i = f(x) - f(x with x_i := b_i),

which is exact and costs one forward pass per token. The norms `l1` and `l2` need the integral of each dimension: all
tokens and all points of their paths go through the model in common batches, and a token is done when its dimensions
sum to the known total within `tolerance` of the largest one; the others get twice the Gauss-Legendre nodes.
Reference: Enguehard 2023. Cost: one forward pass per token and one; for a norm 8 to 256 more, with as many backward
passes per target.
The author's code runs 50 nodes token by token, and feeds embedded text through the embedding layer again. It takes the
gradient of the highest logit at each point, whose label may change on the way: `follow="highest"` does, and has the
same scores for every target; by default it is the target's score on all of the way.
There is no completeness over the text: each path has a start of its own.
"""

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.methods.integrated_gradients import gauss_legendre
from whylight.views.gradient import Baseline, GradientView
from whylight.views.highest import HighestView
from whylight.views.positions import Pooling

NODES = (8, 16, 32, 64, 128, 256)


@method(
    cite="enguehard2023",
    signed=True,
    cost="1 forward per token, and 1",
    good_for="integrated gradients of each word with all others in place",
    aliases=("sig",),
)
def sequential_integrated_gradients(
    view: GradientView,
    *,
    tolerance: float = 0.01,
    baseline: Baseline = "auto",
    pooling: Pooling = "sum",
    follow: Literal["target", "highest"] = "target",
) -> Scores:
    """Integrate the gradient on the way of each token alone from nothing to itself."""
    if follow == "target":
        return _integrated(view, tolerance, baseline, pooling)
    found = _integrated(HighestView(view), tolerance, baseline, pooling)
    same = "the scores are of whichever label is highest, and are the same for every target"
    n_targets = len(view.score(view.inputs))
    return replace(found, values=found.values.repeat(n_targets, axis=0), notes=(*found.notes, same))


def _integrated(view: GradientView, tolerance: float, baseline: Baseline, pooling: Pooling) -> Scores:
    totals = _totals(view, baseline)
    if pooling == "sum":
        return Scores(view.to_features(totals), signed=True)
    moving = view.positions.content
    values = torch.zeros_like(view.inputs).expand(len(totals), -1, -1)
    for steps in NODES:
        values = torch.where(moving[:, None], _integrals(view, moving, steps, baseline), values)
        error = (values.sum(-1) - totals).abs().amax(0)
        moving = moving & (error > tolerance * totals.abs().amax())
        if not bool(moving.any()):
            return view.pooled(values, pooling)
    missed = f"{int(moving.sum())} tokens missed the tolerance {tolerance:g} with {NODES[-1]} nodes"
    return replace(view.pooled(values, pooling), notes=(missed,))


def _totals(view: GradientView, baseline: Baseline) -> Tensor:
    """Return f(x) - f(x with one position at the baseline) for each position, 0 for special ones."""
    start, movers = view.baseline(baseline), view.positions.content.nonzero()[:, 0]

    def points(indices: Tensor) -> Tensor:  # the last one is the untouched input
        rows = view.inputs.repeat(len(indices), 1, 1)
        gone = indices < len(movers)
        rows[gone, movers[indices[gone]]] = start[movers[indices[gone]]]
        return rows

    scores = view.scores(len(movers) + 1, points)
    totals = scores.new_zeros(scores.shape[1], len(view.inputs))
    totals[:, movers] = (scores[-1] - scores[:-1]).T
    return totals


def _integrals(view: GradientView, moving: Tensor, steps: int, baseline: Baseline) -> Tensor:
    """Return (x - b) x the integral at the moving positions and 0 elsewhere, `[targets, positions, dims]`."""
    start = view.baseline(baseline)
    way = view.inputs - start
    nodes, weights = gauss_legendre(steps, way)
    movers = moving.nonzero()[:, 0]

    def path(indices: Tensor) -> tuple[Tensor, Tensor]:
        position, node, row = movers[indices // steps], indices % steps, torch.arange(len(indices))
        points = view.inputs.repeat(len(indices), 1, 1)
        points[row, position] = start[position] + nodes[node, None] * way[position]
        coefficients = torch.zeros_like(points[:, :, :1])
        coefficients[row, position] = weights[node, None]
        return points, coefficients

    return way * view.weighted_gradients(len(movers) * steps, path)
