"""Texts that come as tokens: joining them, finding them again, and from token ranges to characters."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from whylight.core.text import Span

WHITE_SPACE = re.compile(r"\S+")


def join_tokens(tokens: Sequence[str], *, part: int = 0) -> tuple[str, tuple[Span, ...]]:
    """Join tokens by one blank; return the text and the span of each token."""
    spans: list[Span] = []
    start = 0
    for token in tokens:
        spans.append(Span(part, start, start + len(token)))
        start += len(token) + 1
    return " ".join(tokens), tuple(spans)


def found(text: str, *, part: int = 0, pattern: re.Pattern[str] = WHITE_SPACE) -> tuple[Span, ...]:
    """Return the spans of the tokens of a text."""
    return tuple(Span(part, *match.span()) for match in pattern.finditer(text))


def cover(tokens: Sequence[Span], start: int, end: int) -> Span:
    """Return the span from token `start` to token `end` (exclusive)."""
    return Span(tokens[start].part, tokens[start].start, tokens[end - 1].end)


def marked_spans(tokens: Sequence[Span], marks: Sequence[object]) -> Iterator[Span]:
    """Yield one span for every longest run of marked tokens."""
    for marked, group in groupby(range(len(tokens)), key=lambda i: bool(marks[i])):
        numbers = list(group)
        if marked:
            yield cover(tokens, numbers[0], numbers[-1] + 1)
