"""SoftGame: how far each feature is present, from 0 to 1 -> the score of each target, differentiable.

    x_k(m) = background_k + m_i (input_k - background_k)      at every position k of feature i

The background is a baseline of the model: a replacement token, or zeros, wherever a feature stands. At masks of 0 and 1
a soft game is the `Game` of the remover of that name: `mask`, `unk`, `pad` or `zero`. `delete` changes lengths, and
has no soft form.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from whylight.core.arrays import Floats
from whylight.core.encoded import Encoded
from whylight.core.errors import IncompatibleError
from whylight.views.gradient import Baseline, GradientView
from whylight.views.view import View

if TYPE_CHECKING:
    from whylight.views.classifier import Request


class SoftGame(View):
    """One row of a model as a differentiable function of the presence of its features.

    Args:
        view: The row as a function of its word embeddings.
        remover: The remover whose soft form `auto` stands for.
        positions: Where features stand, `[features, dims]`: what distances are taken of.
    """

    seen = "gradients of inputs with faded features"
    joined = "sum"

    def __init__(self, view: GradientView, *, remover: str, positions: Floats) -> None:
        self.view = view
        self.remover = remover
        self.positions = positions
        self.n_features = view.positions.n_features

    @property
    def auto(self) -> Mapping[str, str]:
        """The background is what the remover leaves of a removed feature."""
        return {"background": self.remover}

    def __call__(self, masks: Tensor, *, background: Baseline = "auto") -> Tensor:
        """Return the scores `[batch, targets]` of masks `[batch, features]`, all of them in one pass."""
        return self.view.answers(self.points(masks, background=background))

    def points(self, masks: Tensor, *, background: Baseline = "auto") -> Tensor:
        """Return what the network gets in place of its input, `[batch, positions, dims]`."""
        nothing = self.background(background)
        always = masks.new_ones(len(masks), 1)  # feature -1 finds this column
        present = torch.cat([masks, always], dim=1)[:, self.view.positions.feature]
        return nothing + present[..., None] * (self.view.inputs - nothing)

    def first_background(self, *names: Baseline) -> Baseline:
        """Return the first of some backgrounds that there is for this model; zeros, if there is none."""
        return next((name for name in names if name in self.view.baselines), "zero")

    def background(self, name: Baseline = "auto") -> Tensor:
        """Return what stands for nothing, `[positions, dims]`; special tokens stay as they are."""
        chosen = self.remover if name == "auto" else name
        if chosen not in self.view.baselines:
            known = ", ".join(self.view.baselines)
            raise IncompatibleError(f"there is no soft form of '{chosen}' for this model; use {known}.")
        return self.view.baselines[chosen]

    @classmethod
    def together(cls, windows: Sequence["SoftGame"], encoded: Encoded) -> "SoftGame":
        """Return the whole text as one soft game."""
        view = GradientView.together([window.view for window in windows], encoded)
        return cls(view, remover=windows[0].remover, positions=encoded.example.coordinates(encoded.places))

    @property
    def bytes_per_target(self) -> int:
        """Memory for a gradient by the word embeddings."""
        return self.view.bytes_per_target


class SoftPicture(SoftGame):
    """A soft game of a picture, whose features have a row and a column."""

    seen = "gradients of pictures with faded parts"


def soft_game_of(
    view: GradientView, segment: Encoded, request: "Request", *, kind: type[SoftGame] = SoftGame
) -> SoftGame:
    """Look at one window as a function of how far each feature is present, where there is a view of its gradient."""
    positions = segment.example.coordinates(segment.places)
    return kind(view, remover=request.removing.name, positions=positions)
