"""What a model must offer to be explained: labels, a way to cut inputs, an answer to coalitions, and views."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.encoded import TEXT_UNITS, Encoded, Long, Unit
from whylight.core.errors import IncompatibleError, InputError
from whylight.core.inputs import Nested, noun_of
from whylight.core.labels import OF_ONE_LABEL, Labels, ScoreSpace, Target
from whylight.core.text import Text
from whylight.views.batch import Removal
from whylight.views.cache import Cache
from whylight.views.game import Game
from whylight.views.meter import Meter
from whylight.views.positions import Pieces
from whylight.views.view import View

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
        removal: What "removed" means, to views in which something can be.
        cache: Answers that are known already, to be added to.
    """

    targets: tuple[Target, ...]
    space: ScoreSpace
    pieces: Pieces = "sum"
    meter: Meter = field(default_factory=Meter)
    removal: Removal | None = None
    cache: Cache = field(default_factory=dict)

    @property
    def columns(self) -> list[int]:
        """The columns of the targets."""
        return [target.index for target in self.targets]

    def of_all(self, labels: Labels) -> "Request":
        """Return the same request for every label of a classifier."""
        return replace(self, targets=tuple(Target(i, name) for i, name in enumerate(labels.names)))

    @property
    def removing(self) -> Removal:
        """What "removed" means; a view that needs to know it is refused without."""
        if self.removal is None:
            raise IncompatibleError("words are to be removed, and nobody said what that means; name a remover.")
        return self.removal


def require_classifier(value: object) -> None:
    """Refuse what has not been loaded: a pipeline, a network or a function is no classifier yet."""
    if not hasattr(value, "offers"):
        raise InputError(f"a classifier is what wl.load returns, not {type(value).__name__}; load it: wl.load(...).")


def require_texts(reads: str, work: str) -> None:
    """Refuse work that is made for texts in front of a classifier that reads something else.

    Args:
        reads: The kind of inputs that the classifier takes.
        work: What is asked for.
    """
    if reads != Text.kind:
        raise IncompatibleError(f"{work} is made for texts, and this model reads {noun_of(reads).many}.")


Offer = Callable[[Encoded, Request], View]
"""Builds a view of an input, or of one window of it."""
Offers = dict[type[View], Offer]


@runtime_checkable
class Classifier(Protocol):
    """Anything that gives labels to inputs.

    Attributes:
        labels: Its labels.
        identity: A name for the receipt.
        kind: What to call it in a message, e.g. `"a callable"`.
        reads: The kind of inputs that it takes, e.g. `"text"`.
        score_spaces: The score spaces that exist for it, default first.
    """

    labels: Labels
    identity: str
    kind: str
    reads: str
    score_spaces: tuple[ScoreSpace, ...]

    @property
    def offers(self) -> Mapping[type[View], Offer]:
        """The views that it can be looked at through, by their type, with what builds one."""
        ...

    @property
    def removers(self) -> tuple[str, ...]:
        """The removers that work on it, default first."""
        ...

    def encode(self, example: Any, *, unit: Unit, long: Long) -> Encoded:  # noqa: ANN401  of the kind that it reads
        """Cut an example into features."""
        ...

    def outcomes(
        self, encoded: Encoded, *, removal: Removal, cache: Cache, meter: Meter, columns: Sequence[int] | None = None
    ) -> Outcomes:
        """Return the function from coalitions to logits; a long text is one function, the mean over its windows.

        Args:
            encoded: The text.
            removal: What "removed" means.
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
class Divides(Protocol):
    """A classifier that says what its features may be.

    Attributes:
        units: What they may be, default first.
    """

    units: tuple[Unit, ...]


@runtime_checkable
class Individual(Protocol):
    """A classifier that may have other labels for each input: texts that are written behind it."""

    def about(self, encoded: Encoded, asked: Sequence[str]) -> tuple[Classifier, tuple[str, ...]]:
        """Return the classifier in front of one input, and what the receipt must say about it.

        Args:
            encoded: The input.
            asked: Texts that a user asks about.
        """
        ...


@runtime_checkable
class Tried(Classifier, Protocol):
    """A classifier that finds out by itself whether views of it are right.

    Attributes:
        architecture: What to call its model in a message.
    """

    architecture: str

    def finding(self, view: type[View]) -> str | None:
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
class Dissected(Protocol):
    """A classifier whose layers can be recorded, or that can say why not."""

    def layers_obstacle(self, *, post_norm: bool) -> str | None:
        """Return why its layers cannot be recorded, or None if they can.

        Args:
            post_norm: Whether each of them must end in a norm.
        """
        ...


def unit_for(classifier: Classifier, unit: Unit | None) -> Unit:
    """Return what features are to be: what is asked for, if the classifier knows it, or its default."""
    known = classifier.units if isinstance(classifier, Divides) else TEXT_UNITS
    if unit is not None and unit not in known:
        raise IncompatibleError(f"{classifier.kind} has no features that are {unit}s; use {', '.join(known)}.")
    return unit or known[0]


def game_of(classifier: Classifier, encoded: Encoded, request: Request) -> Game:
    """Look at a classifier and an input as a game; what every classifier offers."""
    labels, columns = classifier.labels, request.columns
    # only a softmax makes the score of a label depend on the other labels
    apart = labels.head != "softmax" or request.space in OF_ONE_LABEL
    outcomes = classifier.outcomes(
        encoded,
        removal=request.removing,
        cache=request.cache,
        meter=request.meter,
        columns=columns if apart else None,
    )

    def value(keep: Bools) -> Floats:
        scores = labels.scores(outcomes(keep), request.space)
        return scores if apart else scores[:, columns]

    blocks, n_features = encoded.blocks, encoded.n_features
    several = blocks if len(blocks) > 1 else None
    levels = partial(_levels, encoded)
    return Game(
        value,
        n_features=n_features,
        n_targets=len(columns),
        blocks=several,
        meter=request.meter,
        levels=levels,
        positions=lambda: encoded.example.coordinates(encoded.places),
    )


def _levels(encoded: Encoded) -> tuple[Ints, ...]:
    """Return the larger stretches that features lie in, if the input has such."""
    return encoded.example.levels(encoded.places) if isinstance(encoded.example, Nested) else ()
