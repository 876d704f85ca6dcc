"""From scores of token positions to scores of features."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from whylight.core.arrays import Floats

Pieces = Literal["sum", "max", "mean"]
PIECES: tuple[Pieces, ...] = get_args(Pieces)
Pooling = Literal["sum", "l1", "l2"]


@dataclass(frozen=True, slots=True)
class Positions:
    """Which feature each position of a row belongs to.

    Attributes:
        feature: Feature of each position, -1 for special tokens and prompt text, `[positions]`.
        n_features: Number of features.
        pieces: How a feature's score comes from those of its positions.
    """

    feature: Tensor
    n_features: int
    pieces: Pieces = "sum"

    @property
    def content(self) -> Tensor:
        """Positions that belong to a feature, as a mask `[positions]`."""
        return self.feature >= 0

    def to_features(self, scores: Tensor) -> Floats:
        """Gather scores `[targets, positions]` into scores `[targets, features]`; a feature without position gets 0."""
        values = scores.detach().double()[:, self.content]
        index = self.feature[self.content].expand(len(values), -1)
        out = torch.zeros(len(values), self.n_features, dtype=torch.float64, device=values.device)
        reduction = {"sum": "sum", "max": "amax", "mean": "mean"}[self.pieces]
        gathered = out.scatter_reduce(1, index, values, reduction, include_self=False)
        return gathered.cpu().numpy()

    def share_out(self, parts: Tensor) -> Floats:
        """Gather parts of a sum `[targets, positions]` into those of features `[targets, features]`."""
        return self.to_features(parts)


def pool(values: Tensor, how: Pooling) -> Tensor:
    """Reduce the embedding axis, `[..., dims]` to `[...]`; only `sum` keeps the sign."""
    if how == "sum":
        return values.sum(-1)
    norms: Tensor = torch.linalg.vector_norm(values, ord=1 if how == "l1" else 2, dim=-1)
    return norms
