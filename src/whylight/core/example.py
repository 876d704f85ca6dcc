"""What is explained: a text, perhaps with a second one, and stretches of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters `start` to `end` (exclusive) of one part of an example.

    Attributes:
        part: 0 for the text, 1 for its pair.
        start: First character.
        end: One past the last character.
    """

    part: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Example:
    """One input of a classifier.

    Attributes:
        text: The text.
        pair: The second text of a pair task (a hypothesis, an answer), or None.
        words: The data set's own words in reading order, or None for the usual cut into words.
    """

    text: str
    pair: str | None = None
    words: tuple[Span, ...] | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """The text, and its pair if there is one."""
        return (self.text,) if self.pair is None else (self.text, self.pair)

    def slice(self, span: Span) -> str:
        """Return the characters that a span covers."""
        return self.parts[span.part][span.start : span.end]
