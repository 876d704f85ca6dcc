"""A text in which the evidence of many labels is marked, each span with the numbers of the labels that cite it.

Spans of different labels may overlap. So the text is cut wherever a span starts or ends: a piece is marked if any span
covers it, has a name if a span starts with it, and is followed by the numbers of the labels whose spans end with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from whylight.core.text import Text


@dataclass(frozen=True, slots=True)
class Citation:
    """A span that is evidence for the label of a number: part, first character, one past the last."""

    part: int
    start: int
    end: int
    number: int


@dataclass(frozen=True, slots=True)
class CitedPiece:
    """A stretch of text.

    Attributes:
        text: The characters.
        start: The first of them, if a span starts here; None where nothing points to.
        marked: Whether it is evidence for any label.
        numbers: Labels whose evidence ends here.
    """

    text: str
    start: int | None
    marked: bool
    numbers: tuple[int, ...]


def cited_pieces(example: Text, cited: Sequence[Citation]) -> list[list[CitedPiece]]:
    """Cut each part of a text at the spans that are cited, leaving out no character."""
    return [_cut(text, [one for one in cited if one.part == part]) for part, text in enumerate(example.parts)]


def _cut(text: str, cited: Sequence[Citation]) -> list[CitedPiece]:
    starts = {one.start for one in cited}
    cuts = sorted({0, len(text), *starts, *(one.end for one in cited)})
    return [
        CitedPiece(
            text=text[start:end],
            start=start if start in starts else None,
            marked=any(one.start <= start < one.end for one in cited),
            numbers=tuple(sorted({one.number for one in cited if one.end == end})),
        )
        for start, end in pairwise(cuts)
    ]
