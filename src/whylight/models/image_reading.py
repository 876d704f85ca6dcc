"""What a classifier of pictures is handed, and what its network returns, looked at before it is used."""

from typing import Any

from torch import Tensor

from whylight.core.encoded import Encoded
from whylight.core.errors import ModelError
from whylight.core.image import Image
from whylight.views.pixels import PixelWindow


def logits_of(answer: Any, labels: int, head: str) -> Tensor:  # noqa: ANN401  a tensor, or what Hugging Face returns
    """Return the logits of what a network returned, or say that it is no classifier."""
    logits = getattr(answer, "logits", answer)
    wanted = 1 if head == "binary" else labels
    if not isinstance(logits, Tensor) or logits.dim() != 2 or logits.shape[1] != wanted:  # noqa: PLR2004
        shape = list(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
        raise ModelError(f"the model must return logits [pictures, {wanted}], one column per label, not {shape}.")
    return logits


def picture_of(encoded: Encoded) -> Image:
    """Return the picture that was cut into features."""
    if not isinstance(encoded.example, Image):
        raise TypeError("a classifier of pictures reads pictures")
    return encoded.example


def window_of(encoded: Encoded) -> PixelWindow:
    """Return its only window."""
    (window,) = encoded.windows
    if not isinstance(window, PixelWindow):
        raise TypeError("a classifier of pictures reads pixels")
    return window
