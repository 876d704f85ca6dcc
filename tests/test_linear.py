"""Cutting a text takes time in proportion to its length, whatever stands in it, and cuts as it always has."""

import re
import time
import unicodedata
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from whylight.core.rationale import Rationale
from whylight.core.segment import sentences, words
from whylight.core.text import Span, Text

# What the functions did when they were written to be read, and were quadratic: what they are held against.
_PIECE = re.compile(r"\w+(?:['’\-]\w+)*|\S")
_JOINERS = frozenset("\u200d\u200c\u2060\ufe0e\ufe0f\u20e3")
_SENTENCE_END = re.compile(r"(?:[.!?…。！？]+[\"'”’)\]»]*(?=\s)|[。！？]|\n\s*\n)")
_ABBREVIATION = re.compile(r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|Sr|Jr|vs|etc|e\.g|i\.e|cf|approx|No|Fig|al)|\b[A-Z])\.$")


def words_before(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    shadow: list[str] = []
    for character in text:
        on_letter = bool(shadow) and (shadow[-1].isalnum() or shadow[-1] == "_")
        shadow.append("a" if on_letter and mark(character) else character)
    for match in _PIECE.finditer("".join(shadow)):
        start, end = match.span()
        if spans and spans[-1][1] == start and continues(text[spans[-1][0] : start], text[start]):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


def mark(character: str) -> bool:
    tone = "\U0001f3fb" <= character <= "\U0001f3ff"
    return character in _JOINERS or tone or unicodedata.category(character).startswith("M")


def continues(before: str, after: str) -> bool:
    flags = all("\U0001f1e6" <= one <= "\U0001f1ff" for one in (before, after)) and len(before) == 1
    return mark(after) or before[-1] == "\u200d" or flags


def sentences_before(text: str) -> list[tuple[int, int]]:
    def cuts() -> Iterator[int]:
        for match in _SENTENCE_END.finditer(text):
            if not _ABBREVIATION.search(text, max(0, match.end() - 12), match.end()):
                yield match.end()
        yield len(text)

    spans, start = [], 0
    for cut in cuts():
        piece = text[start:cut]
        spans.append((start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())))
        start = cut
    return [span for span in spans if span[0] < span[1]]


def marks_before(rationale: Rationale, features: list[Span]) -> list[bool]:
    marked = {(s.part, i) for s in rationale.places for i in range(s.start, s.end)}
    covered = [sum((f.part, i) in marked for i in range(f.start, f.end)) for f in features]
    return [c > 0 and 2 * c >= f.end - f.start for c, f in zip(covered, features, strict=True)]


SIGNS = "ab-'’.!?…。！？\"”)]» \n\r\t\x1c\u0301\u200d\ufe0f\u20e3\U0001f3fd\U0001f1e6\U0001f1e7😀_1ADr\u00a0\u2028é"
TEXTS = st.one_of(
    st.text(st.sampled_from(SIGNS), max_size=40),
    st.text(max_size=40),
    st.lists(st.sampled_from(["Dr.", "e.g.", "i.e. ", "A.", "No. 5", "\n\n", "\n \n", '."', "...", "。", " "])).map(
        "".join
    ),
)


@settings(max_examples=600)
@given(TEXTS)
@example("...x")
@example("..。.。x")
@example('."\n \nDr. X。')
@example("\n" * 4 + "x")
@example("!\u0301\u0301a\u0301")
def test_texts_are_cut_as_before(text: str) -> None:
    assert words(text) == words_before(text)
    assert sentences(text) == sentences_before(text)


SPANS = st.builds(
    lambda part, start, size: Span(part, start, start + size), st.integers(0, 1), *[st.integers(0, 30)] * 2
)


@settings(max_examples=300)
@given(st.lists(SPANS, max_size=8), st.lists(SPANS, max_size=8))
def test_words_are_gold_as_before(marked: list[Span], features: list[Span]) -> None:
    rationale = Rationale(tuple(marked))
    assert Text("").marks(rationale.places, features).tolist() == marks_before(rationale, features)


UNITS = (
    *(".", "!?", "…", "。", '"', '."', "?”)", "(", "[]", "'", "a'", "-", "a-", "a’b-", "_", "x"),
    *("\u0301", "!\u0301", "a\u0301", "\u200d", "😀\u200d", "\u200c", "\U0001f1e6", "👍\U0001f3fd", "1\ufe0f\u20e3"),
    *(" ", "\n", "\n ", "\r\n", "\t", "\u2028", "\n\x1c", "Dr. ", "A.", "A. ", "e.g. ", "etc.", ".\n", "好", "é. "),
)
ENDS = ("", "x", " ", "\n", " x.")


def seconds(function: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    function(text)
    return time.process_time() - started


@pytest.mark.parametrize("function", [words, sentences])
@pytest.mark.parametrize("unit", UNITS)
def test_four_times_the_text_takes_about_four_times_as_long(function: Callable[[str], object], unit: str) -> None:
    """A quadratic cut would take sixteen times as long, and hours for the longer texts."""
    lead = "!" if unit == "\u0301" else "\n" if unit == "\r\n" else ""
    for end in ENDS if len(unit) == 1 and not unit.isalnum() else ENDS[1:2]:
        short, long = (lead + unit * (size // len(unit)) + end for size in (10_000, 40_000))
        quick = min(seconds(function, short) for _ in range(3))
        assert seconds(function, long) < 10 * quick + 0.1


@pytest.mark.parametrize("unit", [".", *(pytest.param(one, marks=pytest.mark.slow) for one in ("!\u0301", "。"))])
def test_a_megabyte_is_cut_in_seconds(unit: str) -> None:
    short, long = (unit * (size // len(unit)) + "x" for size in (250_000, 1_000_000))
    for function in (words, sentences):
        quick = seconds(function, short)
        assert seconds(function, long) < min(30.0, 10 * quick + 0.1)


def test_a_megabyte_of_overlapping_marks_is_held_against_words_in_seconds() -> None:
    text = "a word " * 140_000
    features = [Span(0, start, end) for start, end in words(text)]
    rationale = Rationale(tuple(Span(0, start, len(text)) for start in range(0, len(text), 100)))
    started = time.process_time()
    assert bool(np.all(Text("").marks(rationale.places, features)))
    assert time.process_time() - started < 10
