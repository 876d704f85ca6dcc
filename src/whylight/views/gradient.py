"""GradientView: a continuous input -> the score of each target, differentiable.

The input is the sequence of word embeddings of one row, before position, type and LayerNorm, which the model adds once.
The untouched row can also be looked at one level further up, at what the embedding module gives out: see `linearise`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from whylight.core import progress
from whylight.core.arrays import Floats
from whylight.core.encoded import Encoded
from whylight.core.errors import IncompatibleError, unknown
from whylight.core.scores import Scores
from whylight.views.joint import Joint
from whylight.views.meter import Meter
from whylight.views.positions import Pooling, Positions, pool
from whylight.views.view import View

Baseline = Literal["auto", "neutral", "mask", "unk", "pad", "zero", "blur", "mean", "black", "white"]
Rule = Literal["exact", "rescale", "frozen", "guided", "excitation"]
Level = Literal["embedding_output", "word"]
Score = Callable[[Tensor], Tensor]
Points = Callable[[Tensor], Tensor]
"""Indices `[batch]` -> points `[batch, positions, dims]`."""
Path = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Indices `[batch]` -> points `[batch, positions, dims]` and coefficients that broadcast over them."""

_CUT = (
    "no gradient of the score reaches the input: the model computes something that has none (e.g. integer weights); "
    "use occlusion or kernel_shap."
)
BATCHED_LIMIT = 256
"""Up to this many positions in a batch, gradients of several targets are propagated together; beyond, one by one."""


class Graph(NamedTuple):
    """One pass of the untouched row, as a function of its sources.

    Attributes:
        scores: `[1, targets]`.
        tokens: Sources of the positions, `[rows, positions, dims]`.
        others: Sources that belong to no position, of any shape.
    """

    scores: Tensor
    tokens: Tensor
    others: Sequence[Tensor]


@dataclass(frozen=True, eq=False)
class Linearisation:
    """What the untouched row's score is to first order: sum over positions of source . gradient, and a rest.

    Attributes:
        shares: Source . gradient of each position, `[targets, positions]`.
        rest: Source x gradient of what belongs to no position, above all of biases, `[targets]`.
        scores: `[targets]`.
    """

    shares: Tensor
    rest: Tensor
    scores: Tensor

    @cached_property
    def gap(self) -> Floats:
        """By how much the sources miss the score, `[targets]`; nothing but rounding under the rule `frozen`."""
        total = self.shares.double().sum(-1) + self.rest.double()
        gap: Floats = (total - self.scores.double()).cpu().numpy()
        return gap


class GradientView(View):
    """One row of a model as a differentiable function of its word embeddings.

    Args:
        score: Points `[batch, positions, dims]` -> scores `[batch, targets]`.
        inputs: Word embeddings of the untouched row, `[positions, dims]`.
        baselines: Named rows of "nothing", special tokens kept, `[positions, dims]` each; the first is the default.
        positions: Which feature each position belongs to.
        rules: Context managers that change how gradients are propagated.
        graph: Runs the untouched row such that its graph starts at a level.
        row_limit: Points that may go through the model in one batch.
        meter: Where passes are counted.
        joint: The network, where it answers for several views in one batch.
        row: The row, as that network knows it.
        all_labels: Looks at the row for every label of the model.
    """

    seen = "gradients"
    joined = "sum"

    def __init__(  # noqa: PLR0913  one keyword per fact; there is nothing to group
        self,
        score: Score,
        inputs: Tensor,
        *,
        baselines: Mapping[str, Tensor],
        positions: Positions,
        rules: Mapping[str, Callable[[], AbstractContextManager[None]]] | None = None,
        graph: Callable[[Level], Graph] | None = None,
        row_limit: int = 16,
        meter: Meter | None = None,
        joint: Joint | None = None,
        row: Any = None,  # noqa: ANN401  of the network's own type
        all_labels: Callable[[], "GradientView"] | None = None,
    ) -> None:
        self._score = score
        self.inputs = inputs
        self.baselines = baselines
        self.positions = positions
        self._rules = rules or {}
        self._graph = graph
        self.row_limit = row_limit
        self.meter = meter or Meter()
        self.joint = joint
        self.row = row
        self.all_labels = all_labels

    @property
    def auto(self) -> Mapping[str, str]:
        """The baseline is mask, else unk, else pad, as the model has them."""
        return {"baseline": next(iter(self.baselines))}

    def baseline(self, name: Baseline = "auto") -> Tensor:
        """Return the row of "nothing", `[positions, dims]`; special tokens stay as they are."""
        chosen = self.auto["baseline"] if name == "auto" else name
        if chosen not in self.baselines:
            raise unknown("baseline for this model", name, self.baselines)
        return self.baselines[chosen]

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
            parts.append(self.answers(points(indices)))
            progress.advance(len(indices))
        return torch.cat(parts)

    def gradients(self, points: Tensor, *, rule: Rule = "exact") -> Tensor:
        """Return d score / d point, `[targets, batch, positions, dims]`, for points `[batch, positions, dims]`.

        With `rule="rescale"` the second half of the batch is the reference of the first (see `deeplift`).
        """
        leaf = points.detach().requires_grad_(True)  # noqa: FBT003  torch's own signature
        with torch.enable_grad(), self._rule(rule):
            scores = self.answers(leaf)
        self.meter.backward += scores.numel()
        return gradient_of_each(scores, leaf)

    def gradient(self) -> Tensor:
        """Return the gradient at the untouched input, `[targets, positions, dims]`."""
        return self.gradients(self.inputs[None])[:, 0]

    def linearise(self, *, level: Level, rule: Rule = "frozen") -> Linearisation:
        """Differentiate the untouched row by its sources at a level.

        Args:
            level: Where sources are: outputs of the embedding module, or word embeddings.
            rule: How gradients are propagated.
        """
        if self._graph is None:
            raise IncompatibleError("this model does not show what its embedding module gives out.")
        with torch.enable_grad(), self._rule(rule):
            graph = self._graph(level)
        self.meter.forward += 1
        self.meter.backward += graph.scores.numel()
        return linearised(graph, positions=len(self.inputs))

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

    def answers(self, points: Tensor) -> Tensor:
        """Return the scores `[batch, targets]` of points that fit into one batch, differentiable by them."""
        self.meter.forward += len(points)
        return self._score(points)

    def _rule(self, rule: Rule) -> AbstractContextManager[None]:
        if rule == "exact":
            return nullcontext()
        if rule not in self._rules:
            raise IncompatibleError(f"gradients of this model cannot be propagated by the rule '{rule}'.")
        return self._rules[rule]()

    def _batches(self, count: int) -> Iterator[Tensor]:
        progress.expect(count)
        for first in range(0, count, self.row_limit):
            yield torch.arange(first, min(count, first + self.row_limit), device=self.inputs.device)

    @property
    def bytes_per_target(self) -> int:
        """Memory for one gradient."""
        return int(self.inputs.nbytes)

    @classmethod
    def together(cls, windows: Sequence["GradientView"], encoded: Encoded) -> "GradientView":
        """Return the whole text as one function: the mean of its windows' scores."""
        from whylight.views.windows import WindowsGradientView  # noqa: PLC0415  which is a subclass of this

        return WindowsGradientView(windows, encoded)

    def to_features(self, scores: Tensor) -> Floats:
        """Gather scores of positions `[targets, positions]` into scores of features `[targets, features]`."""
        return self.positions.to_features(scores)

    def pooled(self, values: Tensor, pooling: Pooling) -> Scores:
        """Pool `[targets, positions, dims]` into scores of features; only a sum keeps the sign."""
        return Scores(self.to_features(pool(values, pooling)), signed=pooling == "sum")

    def complete(self, values: Tensor, pooling: Pooling, baseline: Baseline) -> Scores:
        """Pool what should sum to f(input) - f(baseline); the gap by which it misses that exists for a sum alone."""
        scores = self.pooled(values, pooling)
        if pooling != "sum":
            return scores
        rise = self.score(self.inputs) - self.score(self.baseline(baseline))
        return replace(scores, gap=scores.values.sum(axis=1) - rise)


def gradient_of_each(scores: Tensor, leaf: Tensor) -> Tensor:
    """Return the gradient of each target, `[targets, batch, positions, dims]`.

    Args:
        scores: `[batch, targets]`, each row a function of the same row of the leaf.
        leaf: What to differentiate by, `[batch, positions, dims]`.
    """
    return _gradients_of_each(scores, [leaf])[0]


def linearised(graph: Graph, *, positions: int) -> Linearisation:
    """Differentiate a graph by its sources.

    Args:
        graph: The graph of one row, or of several that follow each other.
        positions: How many positions of it are the row's; a model may have added more (BigBird).
    """
    own, *others = _gradients_of_each(graph.scores, [graph.tokens, *graph.others])
    sources, gradient = graph.tokens.detach().flatten(0, 1), own.flatten(1, 2)
    beyond = (sources[positions:] * gradient[:, positions:]).flatten(1).sum(1)
    shares = [(leaf.detach() * each).flatten(1).sum(1) for leaf, each in zip(graph.others, others, strict=True)]
    rest = torch.stack([beyond, *shares]).sum(0)
    tokens = (sources[:positions] * gradient[:, :positions]).sum(-1)
    return Linearisation(tokens, rest, graph.scores[0].detach())


def _gradients_of_each(scores: Tensor, leaves: Sequence[Tensor]) -> Sequence[Tensor]:
    """Return the gradients of each target by several leaves, `[targets, ...]` each; 0 where a score has none of one."""
    if not scores.requires_grad:
        raise IncompatibleError(_CUT)
    with torch.enable_grad():
        columns = scores.sum(0).unbind()  # rows are independent: the sum's gradient holds every row's own
    if len(columns) > 1 and leaves[0].shape[:2].numel() <= BATCHED_LIMIT:
        each = torch.eye(len(columns), dtype=scores.dtype, device=scores.device)
        found = torch.autograd.grad(columns, leaves, tuple(each), is_grads_batched=True, allow_unused=True)
        return _filled(found, [leaf.new_zeros(len(columns), *leaf.shape) for leaf in leaves])
    zeros = [torch.zeros_like(leaf) for leaf in leaves]
    rows = [
        _filled(torch.autograd.grad(column, leaves, retain_graph=True, allow_unused=True), zeros) for column in columns
    ]
    return [torch.stack(gradients) for gradients in zip(*rows, strict=True)]


def _filled(gradients: Sequence[Tensor | None], zeros: Sequence[Tensor]) -> list[Tensor]:
    """Put zeros where a score has no gradient; by the tokens, which come first, it must have one."""
    if gradients[0] is None:
        raise IncompatibleError(_CUT)
    return [zero if one is None else one for one, zero in zip(gradients, zeros, strict=True)]
