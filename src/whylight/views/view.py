"""What every view answers for itself, so that whoever builds views and applies methods need not know their kinds."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

from whylight.core.encoded import Encoded
from whylight.core.errors import IncompatibleError

Joined = Literal["whole", "sum", "blend"]
"""How a document that is read in several windows is put together from a kind of view.

- `whole`: one view is of the whole document.
- `sum`: the document is the mean of its windows, and so is what is linear in them; views of windows add up to one.
- `blend`: it exists within a window only; scores are averaged over windows, and blended where these overlap.
"""


class View:
    """A model and an input, looked at in one way; subclasses add what can be seen.

    Attributes:
        seen: What is seen through it, in words of users and in the plural, e.g. `"gradients"`; messages name it so.
        joined: How a document in several windows is put together from such views.
        removes: Whether it looks at the model with features removed, by the remover that is asked for.
        vouches: Whether methods on it work if it is right; else each is tried before it is said to work.
        class_specific: Whether what is seen differs from target to target, whatever a method declares of itself.
    """

    seen: ClassVar[str] = ""
    joined: ClassVar[Joined] = "whole"
    removes: ClassVar[bool] = False
    vouches: ClassVar[bool] = True
    class_specific: bool = False

    @property
    def auto(self) -> Mapping[str, str]:
        """What `auto` stands for, by the name of the setting."""
        return {}

    @property
    def bytes_per_target(self) -> int:
        """Memory that a method needs for each target; where it is much, targets are looked at some at a time."""
        return 0

    @classmethod
    def together(cls, windows: Sequence[Any], encoded: Encoded) -> Self:  # noqa: ARG003  subclasses need it
        """Put views of all windows of a document together to one of the document, if `joined` is `sum`."""
        raise IncompatibleError(f"{seen_by(cls)} of one window say nothing about {len(windows)} of them together.")

    def spread(self, values: Any) -> Any:  # noqa: ANN401  an array
        """Return scores of what is seen as scores of features: the same, unless several features count as one."""
        return values

    def window(self, number: int) -> "View":
        """Return a document's view as a function of one of its windows, if `joined` is `sum`."""
        raise IncompatibleError(f"{seen_by(type(self))} cannot be narrowed to window {number} of a document.")


def seen_by(kind: type) -> str:
    """Return what is seen through a kind of view, in words of users; a plug-in's own view may have its name alone."""
    return str(getattr(kind, "seen", "")) or kind.__name__
