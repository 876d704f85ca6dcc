"""What a model must offer to be explained: three small protocols, each a step deeper into it, and its depth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from whylight.core.arrays import Bools, Floats
from whylight.core.encoded import Encoded, Long, Unit
from whylight.core.example import Example
from whylight.core.labels import Labels, ScoreSpace, Target
from whylight.views.cache import Cache
from whylight.views.gradient import GradientView
from whylight.views.meter import Meter
from whylight.views.positions import Pieces
from whylight.views.trace import TraceView

Outcomes = Callable[[Bools], Floats]
"""Keep masks `[coalitions, features]` -> logits `[coalitions, columns]`."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a view is to be of.

    Attributes:
        targets: The labels whose scores are wanted.
        space: The score space.
        pieces: How a feature's score comes from those of its tokens.
        meter: Where passes are counted.
    """

    targets: tuple[Target, ...]
    space: ScoreSpace
    pieces: Pieces = "sum"
    meter: Meter = field(default_factory=Meter)

    @property
    def columns(self) -> list[int]:
        """The columns of the targets."""
        return [target.index for target in self.targets]


@runtime_checkable
class Classifier(Protocol):
    """Anything that gives labels to texts.

    Attributes:
        labels: Its labels.
        identity: A name for the receipt.
        kind: What to call it in a message, e.g. `"a callable"`.
        score_spaces: The score spaces that exist for it, default first.
        removers: The removers that work on it, default first.
    """

    labels: Labels
    identity: str
    kind: str
    score_spaces: tuple[ScoreSpace, ...]
    removers: tuple[str, ...]

    def encode(self, example: Example, *, unit: Unit, long: Long) -> Encoded:
        """Cut an example into features."""
        ...

    def outcomes(
        self, encoded: Encoded, *, remover: str, cache: Cache, meter: Meter, columns: Sequence[int] | None = None
    ) -> Outcomes:
        """Return the function from coalitions to logits; a long text is one function, the mean over its windows.

        Args:
            encoded: The text.
            remover: What "removed" means.
            cache: Answers that are known already, to be added to.
            meter: Where passes are counted.
            columns: The columns that are wanted, in this order; all if left out.
        """
        ...

    def contents(self) -> Mapping[str, str] | None:
        """Return a hash of what its answers depend on, by what it is of; None if there is no telling.

        It is of this moment: who keeps results asks anew, because weights may be trained on in between.
        """
        ...


@runtime_checkable
class Differentiable(Classifier, Protocol):
    """A classifier whose score can be differentiated."""

    def gradient_view(self, segment: Encoded, request: Request) -> GradientView:
        """Look at one window as a function of its word embeddings."""
        ...


@runtime_checkable
class Tried(Classifier, Protocol):
    """A classifier that finds out by itself whether views of it are right.

    Attributes:
        architecture: What to call its model in a message.
    """

    architecture: str

    def finding(self, view: type) -> str | None:
        """Return what is wrong with a kind of view, or None."""
        ...


@runtime_checkable
class Layered(Protocol):
    """A classifier that is a stack of layers.

    Attributes:
        n_layers: How many; methods count them from 1, the one above the embeddings.
    """

    n_layers: int


@runtime_checkable
class Traceable(Differentiable, Protocol):
    """A classifier whose forward pass can be recorded."""

    def trace_view(self, segment: Encoded, request: Request) -> TraceView:
        """Look at the attention and the layers of one window."""
        ...

    def layers_obstacle(self, *, post_norm: bool) -> str | None:
        """Return why its layers cannot be recorded, or None if they can.

        Args:
            post_norm: Whether each of them must end in a norm.
        """
        ...
