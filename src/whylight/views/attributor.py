"""A fitted attribution network, as methods and trainings use it: what it is to be good at, how it reads, its maps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, Self

import torch
from torch import Tensor

from whylight.core.alignment import Alignment
from whylight.views.tokens import TokenWindow

if TYPE_CHECKING:
    from whylight.views.attributed import AttributedView

InverseForm = Literal["log", "probability", "entropy"]
SparsityForm = Literal["bce", "l1"]
Merge = Literal["max", "mean"]
Background = Literal["auto", "neutral", "mask", "unk", "pad", "zero", "learned", "random"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DualMask:
    """What a fitted network is asked to be good at; the same when it is fitted and when it is finetuned.

    Attributes:
        prediction: Weight of L_p: the masked text is answered as the text is.
        inverse: Weight of L_inv: the inversely masked text is not.
        sparsity: Weight of L_a: little is kept.
        inverse_form: What L_inv is: `log` -log(1 - p), `probability` p, `entropy` the negative entropy.
        sparsity_form: What L_a is: `bce` -log(1 - a), or `l1` a, as a mean over tokens.
        background: What stands for a masked token; `auto` is the first replacement token that the model has.
        merge: What a token of the model gets of several tokens of the network: their `max` or `mean`.
        published: As the published code has it: the network's word embeddings are not trained, the prediction embedding
            is divided by the number of classes, and L_a is divided by all tokens of a row, special ones included.
    """

    prediction: float = 1.0
    inverse: float = 1.0
    sparsity: float = 1.0
    inverse_form: InverseForm = "log"
    sparsity_form: SparsityForm = "bce"
    background: Background = "auto"
    merge: Merge = "max"
    published: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A text as a fitted network reads it.

    Attributes:
        rows: Its windows, in tokens of the network; those with a `token` of -1 are special.
        alignment: Pairs of a token of those windows (special ones not counted) and a position of the model.
        n_positions: Positions of the model.
    """

    rows: tuple[TokenWindow, ...]
    alignment: Alignment
    n_positions: int


class Attributor(Protocol):
    """A fitted network, as methods and trainings use it.

    Attributes:
        mask: What it is asked to be good at.
        metric: The metric that it was fitted for.
        notes: What every receipt must say about it.
    """

    mask: DualMask
    metric: str
    notes: tuple[str, ...]

    def read(self, view: "AttributedView") -> Reading:
        """Read a text."""
        ...

    def hidden(self, readings: Sequence[Reading], classes: Tensor) -> list[Tensor]:
        """Return the states of its tokens, special ones left out, `[tokens, width]` for each text.

        Args:
            readings: Texts.
            classes: What it is told about each, `[texts, labels]`.
        """
        ...

    def maps(self, readings: Sequence[Reading], classes: Tensor) -> list[Tensor]:
        """Return its maps, in [0, 1] and differentiable by its weights, `[positions]` for each text."""
        ...

    def head(self) -> Mapping[str, Tensor]:
        """Return the weights of its head."""
        ...

    def scored(self, hidden: Tensor, head: Mapping[str, Tensor]) -> Tensor:
        """Score states `[..., tokens, width]` by the weights of a head; both may be of several texts at once."""
        ...

    def copy(self) -> Self:
        """Return a copy that can be trained without this one changing."""
        ...

    def restore(self, other: Self) -> None:
        """Take over the weights of another."""
        ...

    def parameters(self) -> list[torch.nn.Parameter]:
        """Return what finetuning changes: the encoder and the head, not the class embeddings."""
        ...

    @property
    def learned(self) -> Tensor | None:
        """The learned embedding that stands for a masked token, if there is one."""
        ...


def aligned(scores: Tensor, reading: Reading, merge: Merge) -> Tensor:
    """Bring scores of a network's tokens `[tokens]` to positions of the model `[positions]`, differentiably.

    A token of the model that covers several of the network's gets their maximum or mean; one of the network's that
    covers several of the model's counts for each. Special tokens of the model get 0.
    """
    alignment = reading.alignment
    source, target = (torch.as_tensor(one, device=scores.device) for one in (alignment.source, alignment.target))
    empty = scores.new_zeros(reading.n_positions)
    how = {"max": "amax", "mean": "mean"}[merge]
    return empty.scatter_reduce(0, target, scores[source], how, include_self=False)
