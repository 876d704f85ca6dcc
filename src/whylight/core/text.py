"""Texts, perhaps in pairs, what a prompt shows around them, and stretches of all that."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from whylight.core import segment
from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.errors import InputError
from whylight.core.inputs import Input, JsonValue, Noun, input_kind, noun_of, numbers_of

APART = 1e6
"""How far the two texts of a pair lie from each other, in words: further than any text is long."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters `start` to `end` (exclusive) of one part of a text.

    Attributes:
        part: 0 for the text, 1 for its pair; blocks of a prompt follow.
        start: First character.
        end: One past the last character.
    """

    part: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Block:
    """Words around a text that are one feature together: the instruction of a prompt, or one of its examples.

    Attributes:
        name: What it is called.
        words: What it says.
    """

    name: str
    words: str


@input_kind
@dataclass(frozen=True, slots=True)
class Text:
    """A text, and perhaps a second one.

    Attributes:
        text: The text.
        pair: The second text of a pair task (a hypothesis, an answer), or None.
        words: The data set's own words in reading order, or None for the usual cut into words.
        blocks: What a prompt shows around it and is explained besides, block by block.
    """

    kind: ClassVar[str] = "text"
    noun: ClassVar[Noun] = Noun("text", "texts", "word", "words")
    place: ClassVar[type[Span]] = Span

    text: str
    pair: str | None = None
    words: tuple[Span, ...] | None = None
    blocks: tuple[Block, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The text, and its pair if there is one."""
        return (self.text,) if self.pair is None else (self.text, self.pair)

    @property
    def parts(self) -> tuple[str, ...]:
        """What spans are of: the text, its pair if there is one, and the blocks around them."""
        return (*self.texts, *(block.words for block in self.blocks))

    @property
    def part_names(self) -> tuple[str, ...]:
        """What each part is called."""
        names = ("text",) if self.pair is None else ("first text", "second text")
        return (*names, *(block.name for block in self.blocks))

    @property
    def key(self) -> str:
        """The text; of a pair both, with a character between them that no text holds."""
        return "\0".join(self.texts)

    @property
    def size(self) -> int:
        """Number of characters."""
        return sum(map(len, self.parts))

    def show(self, place: Span) -> str:
        """Return the characters that a span covers."""
        return self.parts[place.part][place.start : place.end]

    def to_json(self) -> dict[str, JsonValue]:
        """Return the texts, and the data set's own words where there are any."""
        words: JsonValue = None if self.words is None else [list(numbers_of(word)) for word in self.words]
        blocks: JsonValue = [[block.name, block.words] for block in self.blocks]
        further = {"words": words, "blocks": blocks or None}
        return {"text": self.text, "pair": self.pair, **{name: one for name, one in further.items() if one is not None}}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Text":
        """Make a text of what `to_json` returned."""
        words, blocks = value.get("words"), tuple(Block(*block) for block in value.get("blocks", ()))
        own = None if words is None else tuple(Span(*word) for word in words)
        return cls(value["text"], value["pair"], own, blocks)

    def marks(self, gold: Sequence[Span], places: Sequence[Span]) -> Bools:
        """Say of each place whether at least half of its characters are marked."""
        parts = {span.part for span in gold}
        sums = {part: np.concatenate(([0], np.cumsum(covered(gold, part) > 0))) for part in parts}
        marked = np.zeros(len(places), dtype=bool)
        for i, place in enumerate(places):
            if place.part in sums:
                own = sums[place.part]
                start, end = (min(edge, len(own) - 1) for edge in (place.start, place.end))
                count = int(own[end] - own[start])
                marked[i] = count > 0 and 2 * count >= place.end - place.start
        return marked

    def coordinates(self, places: Sequence[Span]) -> Floats:
        """Return where features stand: their number in the text, parts far from each other, `[features, 1]`."""
        return np.asarray([[number + APART * span.part] for number, span in enumerate(places)], dtype=np.float64)

    def levels(self, places: Sequence[Span]) -> tuple[Ints, ...]:
        """Return the paragraph and the sentence that each place begins in, numbered through all parts, `[places]`."""
        found = []
        for cut in (segment.paragraphs, segment.sentences):
            starts = [(part, start) for part, text in enumerate(self.parts) for start, _ in cut(text)]
            found.append(np.asarray([bisect_right(starts, (one.part, one.start)) for one in places], dtype=np.int64))
        return tuple(found)


def text_of(example: Input) -> Text:
    """Return an input as the text that it is; what only texts have is refused for others."""
    if not isinstance(example, Text):
        raise InputError(f"this is made for texts, and not for {noun_of(example.kind).many}.")
    return example


def covered(spans: Sequence[Span], part: int) -> Ints:
    """Return how many spans hold each character of a part, up to the last one that is marked."""
    own = [span for span in spans if span.part == part]
    steps = np.zeros(max((span.end for span in own), default=0) + 1, dtype=np.int64)
    for span in own:
        steps[span.start] += 1
        steps[span.end] -= 1
    return np.cumsum(steps)[:-1]
