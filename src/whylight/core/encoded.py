"""An example as a model sees it: features, and the windows in which the model reads them."""

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Literal, Protocol, Self, get_args, runtime_checkable

from whylight.core.arrays import Ints
from whylight.core.inputs import Input

Unit = Literal["word", "token", "sentence", "pixel", "patch", "superpixel"]
UNITS: tuple[Unit, ...] = get_args(Unit)
TEXT_UNITS: tuple[Unit, ...] = ("word", "token", "sentence")
IMAGE_UNITS: tuple[Unit, ...] = ("pixel", "patch", "superpixel")
Long = Literal["window", "segments", "truncate", "refuse"]
LONG: tuple[Long, ...] = get_args(Long)
_DIGEST = 16


@runtime_checkable
class Window(Protocol):
    """What a model reads at once of the untouched input; removers make variants of it."""

    @property
    def features(self) -> Ints:
        """The features that stand in it, ascending."""
        ...

    @property
    def blocks(self) -> tuple[Ints, ...]:
        """Its features by what is encoded together; one block, unless the model reads a window in chunks."""
        ...

    @property
    def row_bytes(self) -> int:
        """Memory that one variant of it takes, about."""
        ...

    def alone(self) -> tuple[Self, Ints]:
        """Return the window with its features numbered from 0, and which features those are."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """An example cut into features, and into the windows that a model reads.

    Attributes:
        example: The example.
        unit: What a feature is.
        places: Where each feature stands.
        windows: What the model reads at once; several for a text that is longer than that.
        notes: What the receipt must say about the cutting.
    """

    example: Input
    unit: Unit
    places: tuple[Any, ...]
    windows: tuple[Window, ...]
    notes: tuple[str, ...] = ()

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.places)

    @property
    def blocks(self) -> tuple[Ints, ...]:
        """The features that the model encodes together; blocks may overlap."""
        return tuple(block for window in self.windows for block in window.blocks if len(block))

    def segment(self, number: int) -> tuple["Encoded", Ints]:
        """Return one window as an input of its own, and which of the features it holds."""
        alone, held = self.windows[number].alone()
        return replace(self, places=tuple(self.places[i] for i in held), windows=(alone,)), held


def key_of(content: bytes) -> bytes:
    """Return a short name for a content; two that differ have the same name about once in 2^64 pairs."""
    return blake2b(content, digest_size=_DIGEST).digest()
