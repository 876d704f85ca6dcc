"""Inputs that methods are checked on: texts, or pictures of the size that a classifier takes.

A picture is of noise, because a method that finds nothing in one colour is right to do so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from whylight.core.encoded import TEXT_UNITS, Unit
from whylight.core.image import Image
from whylight.core.text import Text
from whylight.models.trial import example_of
from whylight.testing.texts import ODD, SHAPES, TEXT
from whylight.views.classifier import Classifier


@dataclass(frozen=True)
class Inputs:
    """Inputs of one kind.

    Attributes:
        ordinary: One in which something is to be found.
        repeated: One of which there are more coalitions than are drawn.
        several: One that has features of every unit.
        units: Units that are tried; superpixels need a library of their own.
        shapes: Inputs that differ in what a method is given, by what they are.
        odd: Others that break tools.
    """

    ordinary: Any
    repeated: Any
    several: Any
    units: tuple[Unit, ...]
    shapes: Mapping[str, Any]
    odd: Mapping[str, Any]


WRITTEN = Inputs(
    ordinary=TEXT,
    repeated=" ".join(["good plot but dull ending"] * 3),
    several="Gripping films! The plot drags though.",
    units=TEXT_UNITS,
    shapes={name: ODD[name] for name in SHAPES},
    odd={name: own for name, own in ODD.items() if name not in SHAPES},
)


def inputs_for(classifier: Classifier) -> Inputs:
    """Return inputs that a classifier reads."""
    return drawn(classifier) if classifier.reads == Image.kind else WRITTEN


def drawn(classifier: Classifier) -> Inputs:
    """Return pictures of the size that a classifier reads."""
    noise, other = (_picture(classifier, seed) for seed in range(2))
    height, width, channels = noise.shape
    ramp = np.broadcast_to(np.linspace(0, 255, width, dtype=np.uint8)[None, :, None], noise.shape)
    half = np.where(np.arange(height)[:, None, None] < height // 2, noise, 0)
    plain = {"black": 0, "white": 255, "grey": 128}
    odd = {name: np.full((height, width, channels), level) for name, level in plain.items()}
    ordinary, repeated = _image(noise), _image(other)
    shapes = {"a ramp": _image(ramp), "half of it black": _image(half)}
    return Inputs(
        ordinary, repeated, ordinary, ("pixel", "patch"), shapes, {name: _image(one) for name, one in odd.items()}
    )


def as_input(given: Any) -> Any:  # noqa: ANN401  any kind of input
    """Return what a classifier encodes: a text for a string or a pair of them, and everything else as it is."""
    if isinstance(given, str):
        return Text(given)
    return Text(*given) if isinstance(given, tuple) else given


def _picture(classifier: Classifier, seed: int) -> Any:  # noqa: ANN401  an array
    shown: Any = example_of(classifier, "a" * seed)
    return shown.array


def _image(pixels: Any) -> Image:  # noqa: ANN401  an array
    return Image.of(np.ascontiguousarray(pixels, dtype=np.uint8), name="a picture")
