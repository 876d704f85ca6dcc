r"""Cutting text into words and sentences by character offsets.

A word is `\w+(?:['’\-]\w+)*` or one other non-space character. Marks and joiners continue what they stand on, so that
a decomposed `é`, a Devanagari vowel sign or a joined emoji never falls apart: Python's `\w` leaves them out.
"""

import re
import unicodedata
from collections.abc import Iterator

_PIECE = re.compile(r"\w+(?:['’\-]\w+)*|\S")
_JOINERS = frozenset("\u200d\u200c\u2060\ufe0e\ufe0f\u20e3")
# possessive (++), so that a run of signs is gone through once: what follows it cannot be another of its kind anyway
_SENTENCE_END = re.compile(r"[.!?…。！？]++[\"'”’)\]»]*+|\n\s*\n")
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*+\n)+")
_FULL_STOP = frozenset("。！？")
"""Signs that end a sentence whatever follows."""
_ABBREVIATION = re.compile(r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|Sr|Jr|vs|etc|e\.g|i\.e|cf|approx|No|Fig|al)|\b[A-Z])\.$")
_FIRST_MARK = "\u0300"
_FIRST_FLAG_LETTER, _LAST_FLAG_LETTER = "\U0001f1e6", "\U0001f1ff"
_FIRST_SKIN_TONE, _LAST_SKIN_TONE = "\U0001f3fb", "\U0001f3ff"


def words(text: str) -> list[tuple[int, int]]:
    """Return the character offsets of the words of a text, in reading order."""
    if text.isascii():  # nothing continues what it stands on
        return [match.span() for match in _PIECE.finditer(text)]
    spans: list[tuple[int, int]] = []
    for match in _PIECE.finditer(_marks_as_letters(text)):
        start, end = match.span()
        if spans and spans[-1][1] == start and _continues(text, spans[-1][0], start):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


def symbols(text: str) -> list[str]:
    """Return what a reader takes for one sign each: a letter with its marks, a joined emoji, a flag."""
    if text.isascii():
        return list(text)
    starts = [i for i in range(len(text)) if not i or not _is_mark(text[i])]
    found: list[str] = []
    for start, end in zip(starts, (*starts[1:], len(text)), strict=True):
        piece = text[start:end]
        flag = bool(found) and len(found[-1]) == 1 and _is_flag_letter(found[-1]) and _is_flag_letter(piece[0])
        if found and (flag or found[-1].endswith("\u200d")):
            found[-1] += piece
        else:
            found.append(piece)
    return found


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the character offsets of the sentences of a text; rule-based, white space trimmed."""
    return [span for span in _trimmed(text, _sentence_cuts(text)) if span[0] < span[1]]


def paragraphs(text: str) -> list[tuple[int, int]]:
    """Return the character offsets of the paragraphs of a text, which blank lines divide; white space trimmed."""
    cuts = (*(match.end() for match in _BLANK_LINES.finditer(text)), len(text))
    return [span for span in _trimmed(text, iter(cuts)) if span[0] < span[1]]


def ends_in_word(text: str) -> bool:
    """Say whether a text ends in a letter or digit, whatever marks stand on it."""
    end = len(text)
    while end and _is_mark(text[end - 1]):
        end -= 1
    return end > 0 and _is_letter(text[end - 1])


def one_word(before: str, after: str) -> bool:
    """Say whether the end of one text and the start of another would be one word, without a blank between them."""
    return bool(after) and (_is_letter(after[0]) or _is_mark(after[0])) and ends_in_word(before)


def _marks_as_letters(text: str) -> str:
    """Return a text of the same length in which every mark on a letter is a letter itself."""
    shadow: list[str] = []
    for character in text:
        on_letter = bool(shadow) and _is_letter(shadow[-1])
        shadow.append("a" if on_letter and _is_mark(character) else character)
    return "".join(shadow)


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_"


def _continues(text: str, first: int, start: int) -> bool:
    """Say whether the piece at `start` is one symbol with that before it, from `first`: a joined emoji, a flag."""
    before, after = text[start - 1], text[start]
    if _is_mark(after) or before == "\u200d":
        return True
    return start - first == 1 and _is_flag_letter(before) and _is_flag_letter(after)


def _is_mark(character: str) -> bool:
    return character >= _FIRST_MARK and (
        character in _JOINERS
        or _FIRST_SKIN_TONE <= character <= _LAST_SKIN_TONE
        or unicodedata.category(character).startswith("M")
    )


def _is_flag_letter(character: str) -> bool:
    return _FIRST_FLAG_LETTER <= character <= _LAST_FLAG_LETTER


def _sentence_cuts(text: str) -> Iterator[int]:
    for match in _SENTENCE_END.finditer(text):
        for cut in _cuts_in(text, *match.span()):
            if not _ABBREVIATION.search(text, max(0, cut - 12), cut):
                yield cut
    yield len(text)


def _cuts_in(text: str, start: int, end: int) -> Iterator[int]:
    """Return the ends of sentences in a run of signs, or in a blank line: its own end, or each sign that needs none."""
    if text[start] == "\n" or text[end : end + 1].isspace():
        yield end
    else:
        yield from (i + 1 for i in range(start, end) if text[i] in _FULL_STOP)


def _trimmed(text: str, cuts: Iterator[int]) -> Iterator[tuple[int, int]]:
    start = 0
    for cut in cuts:
        piece = text[start:cut]
        lead = len(piece) - len(piece.lstrip())
        yield start + lead, start + len(piece.rstrip())
        start = cut
