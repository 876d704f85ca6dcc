"""Reading a model at one of its layers: they are counted from 1, the one above the embeddings."""

from collections.abc import Sequence
from typing import TypeVar

from whylight.core.errors import SettingError

T = TypeVar("T")


def up_to(layers: Sequence[T], layer: int | None) -> Sequence[T]:
    """Return the first so many layers, or all of them for None; a layer that the model has not is refused."""
    if layer is None:
        return layers
    if not 1 <= layer <= len(layers):
        raise SettingError(f"there is no layer {layer}: this model has {len(layers)}, counted from 1.")
    return layers[:layer]
