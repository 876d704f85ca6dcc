"""Plain texts: what a callable reads. A window that is the text itself, and a batch of strings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from whylight.core.arrays import Ints
from whylight.core.encoded import key_of
from whylight.core.text import Span


@dataclass(frozen=True, slots=True, eq=False)
class TextWindow:
    """The untouched text.

    Attributes:
        text: The text.
        spans: Where each feature stands, in reading order.
        replacements: Strings that may stand for a removed feature, by name.
    """

    text: str
    spans: tuple[Span, ...]
    replacements: Mapping[str, str] = field(default_factory=dict)

    @property
    def features(self) -> Ints:
        """Every feature."""
        return np.arange(len(self.spans))

    @property
    def blocks(self) -> tuple[Ints, ...]:
        """One block."""
        return (self.features,)

    @property
    def row_bytes(self) -> int:
        """Memory for one text."""
        return len(self.text) + 1

    def alone(self) -> tuple["TextWindow", Ints]:
        """Return the text, which holds every feature."""
        return replace(self), self.features


@dataclass(frozen=True, slots=True, eq=False)
class TextBatch:
    """Texts, each a row.

    Attributes:
        texts: The texts.
    """

    texts: tuple[str, ...]

    @property
    def lengths(self) -> Ints:
        """Characters of each text, and one."""
        return np.asarray([len(text) + 1 for text in self.texts], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, indices: Sequence[int] | Ints) -> "TextBatch":
        """Return some of the texts."""
        return TextBatch(tuple(self.texts[int(i)] for i in indices))

    def keys(self) -> list[bytes]:
        """Return what makes each text distinct."""
        return [key_of(text.encode()) for text in self.texts]
