"""What can be explained: inputs of any kind, and places in them.

A kind of input is a frozen dataclass with the members of `Input`, registered by `@input_kind`. Its places (stretches of
a text, boxes of an image) are frozen dataclasses of whole numbers. Nothing else in the package asks what an input is,
but for classifiers that read it and reports that draw it. What it and its features are called in messages, a kind may
say as its `noun`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from importlib import import_module
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast, runtime_checkable

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.errors import InputError, unknown

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]
Settings = Mapping[str, JsonValue]
"""Settings by name, as they are written into receipts."""


@dataclass(frozen=True, slots=True)
class Noun:
    """What inputs of a kind and their features are called in messages and on pages, one and several."""

    one: str = "input"
    many: str = "inputs"
    feature: str = "feature"
    features: str = "features"

    @property
    def heading(self) -> str:
        """One input, at the beginning of a line."""
        return self.one[:1].upper() + self.one[1:]

    def count(self, number: int) -> str:
        """Return so many inputs, in words."""
        return f"{number:,} {self.one if number == 1 else self.many}"


INPUTS = Noun()
"""What inputs are called of which nobody knows the kind, or that are of several."""


class Place(Protocol):
    """Where a feature stands in an input, or what people marked: a frozen dataclass of whole numbers."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


class Input(Protocol):
    """What is explained.

    Attributes:
        kind: What kind it is, e.g. `"text"`.
        place: The type of its places.
    """

    kind: ClassVar[str]
    place: ClassVar[type[Any]]

    @property
    def key(self) -> str:
        """What makes it this input and no other: for seeds, and to tell whether two data sets share one."""
        ...

    @property
    def size(self) -> int:
        """How large it is, to compare with others of its kind: what work on it takes."""
        ...

    def show(self, place: Any) -> str:  # noqa: ANN401  a place of its own kind
        """Return what stands at a place, as people read it."""
        ...

    def to_json(self) -> dict[str, JsonValue]:
        """Return all of it; `from_json` makes the same input of that."""
        ...

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Make an input of what `to_json` returned."""
        ...

    def marks(self, gold: Sequence[Any], places: Sequence[Any]) -> Bools:
        """Say of each place whether it counts as marked, where people marked others, `[places]`."""
        ...

    def coordinates(self, places: Sequence[Any]) -> Floats:
        """Return where places lie, as numbers to take distances of, `[places, dims]`."""
        ...


@runtime_checkable
class Nested(Protocol):
    """An input whose places lie in larger stretches, such as the paragraphs of a text."""

    def levels(self, places: Sequence[Any]) -> tuple[Ints, ...]:
        """Return the number of the stretch that each place lies in, a row per level, coarse first, `[places]`."""
        ...


Kind = TypeVar("Kind", bound=type[Input])
_KINDS: dict[str, type[Input]] = {}
_HOMES = {"text": "whylight.core.text", "image": "whylight.core.image"}
"""Where our own kinds are, which are imported when one is read back."""


def input_kind(kind: Kind) -> Kind:
    """Register a kind of input, so that stored ones are read back."""
    known = _KINDS.setdefault(kind.kind, kind)
    if known.__qualname__ != kind.__qualname__:
        raise InputError(f"two kinds of inputs are called '{kind.kind}': {known.__qualname__}, {kind.__qualname__}.")
    _KINDS[kind.kind] = kind
    return kind


def kind_named(name: str) -> type[Input]:
    """Return the kind of input that a name stands for."""
    if name not in _KINDS and name in _HOMES:
        import_module(_HOMES[name])
    if name not in _KINDS:
        raise unknown("kind of input", name, _KINDS)
    return _KINDS[name]


def noun_of(kind: str) -> Noun:
    """Return what inputs of a kind are called: what its class has as `noun`; plainly, where it has none."""
    if kind not in _KINDS and kind not in _HOMES:
        return INPUTS
    found: Noun = getattr(kind_named(kind), "noun", INPUTS)
    return found


def common_noun(kinds: Iterable[str]) -> Noun:
    """Return what inputs are called together."""
    nouns = {noun_of(kind) for kind in set(kinds)}
    return nouns.pop() if len(nouns) == 1 else INPUTS


def numbers_of(place: Place) -> list[int]:
    """Return the whole numbers that a place is made of, in the order of its fields."""
    return [int(value) for value in astuple(cast("Any", place))]


def named_numbers(place: Place) -> dict[str, int]:
    """Return the whole numbers that a place is made of, by name."""
    return dict(zip((one.name for one in fields(cast("Any", place))), numbers_of(place), strict=True))


def own_places(example: Input) -> tuple[Any, ...] | None:
    """Return the places of features that follow from an input itself, which need not be written beside it; or None."""
    found: tuple[Any, ...] | None = getattr(example, "own_places", None)
    return found


def place_of(kind: type[Input], numbers: Sequence[int]) -> Any:  # noqa: ANN401  a place of that kind
    """Make a place of an input of some kind from its numbers."""
    return cast("Any", kind.place)(*numbers)
