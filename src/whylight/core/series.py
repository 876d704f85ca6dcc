"""Lists that show themselves as a whole (`core/showing.py`)."""

from typing import Self, SupportsIndex, TypeVar, overload

from whylight.core import showing

T = TypeVar("T")


class Series(list[T]):
    """A list that shows itself; a slice of it does, too."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: SupportsIndex) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> Self: ...

    def __getitem__(self, index: SupportsIndex | slice) -> T | Self:
        return type(self)(super().__getitem__(index)) if isinstance(index, slice) else super().__getitem__(index)

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save
