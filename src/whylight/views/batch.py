"""Batches: what goes through a model at once, whatever it is made of, and what removing makes of a window."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.encoded import Window
from whylight.core.inputs import Settings


class Batch(Protocol):
    """Rows that a model answers one by one: tokens, texts, pixels."""

    @property
    def lengths(self) -> Ints:
        """What each row counts for in a budget: its tokens, characters or pixels, `[rows]`."""
        ...

    def __len__(self) -> int: ...

    def keys(self) -> list[bytes]:
        """Return what makes each row distinct, in a few bytes: there may be millions of rows."""
        ...

    def take(self, indices: Sequence[int] | Ints) -> Self:
        """Return some of the rows."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Variants:
    """What coalitions make of a window.

    Attributes:
        batch: Rows; if a coalition has several draws, they follow each other, and each has as many.
        weights: How much each draw counts, `[coalitions, draws]`, rows sum to 1; None where there is one draw each.
    """

    batch: Batch
    weights: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Removal:
    """What "removed" means: a remover with its settings.

    Attributes:
        name: The remover.
        function: Makes variants of a window from keep masks `[coalitions, features of the whole input]`.
        settings: Its settings.
        draws: Whether a coalition may have several draws; there are probabilities then, and no logits.
        needs: What it works with besides the window, e.g. a masked language model.
        contents: Hashes of that, by what they are of.
        notes: What readers of results should know of it.
        called: What tables call it: the name that it was asked for by, which may carry settings.
    """

    name: str
    function: Callable[..., Variants]
    settings: Settings = field(default_factory=dict)
    draws: bool = False
    needs: tuple[object, ...] = ()
    contents: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    called: str = ""

    def __call__(self, window: Window, keep: Bools) -> Variants:
        """Return what coalitions make of a window."""
        settings: Mapping[str, Any] = self.settings
        return self.function(window, keep, *self.needs, **settings)
