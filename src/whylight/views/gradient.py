"""GradientView: a continuous input -> the score of each target, differentiable.

The input is the sequence of word embeddings of one row, before position, type and LayerNorm, which the model adds once.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch
from torch import Tensor

from whylight.core import progress
from whylight.core.arrays import Floats
from whylight.core.errors import unknown
from whylight.views.meter import Meter
from whylight.views.positions import Positions

Baseline = Literal["auto", "mask", "unk", "pad", "zero"]
Rule = Literal["exact", "rescale"]
Score = Callable[[Tensor], Tensor]
Points = Callable[[Tensor], Tensor]
"""Indices `[batch]` -> points `[batch, positions, dims]`."""
Path = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Indices `[batch]` -> points `[batch, positions, dims]` and coefficients that broadcast over them."""

BATCHED_LIMIT = 256
"""Up to this many positions in a batch, gradients of several targets are propagated together; beyond, one by one."""


class GradientView:
    """One row of a model as a differentiable function of its word embeddings.

    Args:
        score: Points `[batch, positions, dims]` -> scores `[batch, targets]`.
        inputs: Word embeddings of the untouched row, `[positions, dims]`.
        baselines: Named rows of "nothing", special tokens kept, `[positions, dims]` each; the first is the default.
        positions: Which feature each position belongs to.
        rules: Context managers that change how gradients are propagated.
        row_limit: Points that may go through the model in one batch.
        meter: Where passes are counted.
    """

    def __init__(  # noqa: PLR0913  one keyword a fact; there is nothing to group
        self,
        score: Score,
        inputs: Tensor,
        *,
        baselines: Mapping[str, Tensor],
        positions: Positions,
        rules: Mapping[str, Callable[[], AbstractContextManager[None]]] | None = None,
        row_limit: int = 16,
        meter: Meter | None = None,
    ) -> None:
        self._score = score
        self.inputs = inputs
        self._baselines = baselines
        self.positions = positions
        self._rules = rules or {}
        self._row_limit = row_limit
        self.meter = meter or Meter()

    def baseline_name(self, name: Baseline) -> str:
        """Return which baseline a name stands for; `auto` is mask, else unk, else pad, as the model has them."""
        if name == "auto":
            return next(iter(self._baselines))
        if name not in self._baselines:
            raise unknown("baseline for this model", name, self._baselines)
        return name

    def baseline(self, name: Baseline = "auto") -> Tensor:
        """Return the row of "nothing", `[positions, dims]`; special tokens stay as they are."""
        return self._baselines[self.baseline_name(name)]

    def score(self, point: Tensor) -> Floats:
        """Return the scores `[targets]` of one point `[positions, dims]`."""
        values: Floats = self.scores(1, lambda _indices: point[None])[0].double().cpu().numpy()
        return values

    @torch.no_grad()
    def scores(self, count: int, points: Points) -> Tensor:
        """Return the scores `[count, targets]` of points, in batches that fit.

        Args:
            count: Number of points.
            points: Makes the points from indices below `count`.
        """
        parts = []
        for indices in self._batches(count):
            parts.append(self._forward(points(indices)))
            progress.advance(len(indices))
        return torch.cat(parts)

    def gradients(self, points: Tensor, *, rule: Rule = "exact") -> Tensor:
        """Return d score / d point, `[targets, batch, positions, dims]`, for points `[batch, positions, dims]`.

        With `rule="rescale"` the second half of the batch is the reference of the first (see `deeplift`).
        """
        leaf = points.detach().requires_grad_(True)  # noqa: FBT003  torch's own signature
        with torch.enable_grad(), self._rule(rule):
            scores = self._forward(leaf)
        self.meter.backward += scores.numel()
        return gradient_of_each(scores, leaf)

    def gradient(self) -> Tensor:
        """Return the gradient at the untouched input, `[targets, positions, dims]`."""
        return self.gradients(self.inputs[None])[:, 0]

    def weighted_gradients(self, count: int, path: Path) -> Tensor:
        """Return the sum over points of coefficient x gradient, `[targets, positions, dims]`, in batches that fit.

        Args:
            count: Number of points.
            path: Makes the points and their coefficients from indices below `count`.
        """
        total: Tensor | None = None
        for indices in self._batches(count):
            points, coefficients = path(indices)
            part = (self.gradients(points) * coefficients).sum(1)
            total = part if total is None else total + part
            progress.advance(len(indices))
        if total is None:
            raise ValueError("a path needs at least one point")
        return total

    def _forward(self, points: Tensor) -> Tensor:
        """Return the scores `[batch, targets]` of points that fit into one batch, and count their rows."""
        self.meter.forward += len(points)
        return self._score(points)

    def _rule(self, rule: Rule) -> AbstractContextManager[None]:
        return nullcontext() if rule == "exact" else self._rules[rule]()

    def _batches(self, count: int) -> Iterator[Tensor]:
        progress.expect(count)
        for first in range(0, count, self._row_limit):
            yield torch.arange(first, min(count, first + self._row_limit), device=self.inputs.device)

    def note(self, text: str) -> None:
        """Leave a note for the receipt."""
        self.meter.notes.append(text)

    def to_features(self, scores: Tensor) -> Floats:
        """Gather scores of positions `[targets, positions]` into scores of features `[targets, features]`."""
        return self.positions.to_features(scores)


def gradient_of_each(scores: Tensor, leaf: Tensor) -> Tensor:
    """Return the gradient of each target, `[targets, batch, positions, dims]`.

    Args:
        scores: `[batch, targets]`, each row a function of the same row of the leaf.
        leaf: What to differentiate by, `[batch, positions, dims]`.
    """
    with torch.enable_grad():
        columns = scores.sum(0).unbind()  # rows are independent: the sum's gradient holds every row's own
    if len(columns) > 1 and leaf.shape[:2].numel() <= BATCHED_LIMIT:
        each = torch.eye(len(columns), dtype=scores.dtype, device=scores.device)
        return torch.autograd.grad(columns, leaf, tuple(each), is_grads_batched=True)[0]
    return torch.stack([torch.autograd.grad(column, leaf, retain_graph=True)[0] for column in columns])
