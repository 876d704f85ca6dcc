"""Writing words into a text, or their tokens into a row, in the place of removed ones.

Two words that only a removed sign kept apart get a blank between them. Words that were written together, as in scripts
without blanks or where data bring words of their own, stay so.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from whylight.core.arrays import Ints
from whylight.core.segment import one_word
from whylight.core.text import Span
from whylight.perturb.blanks import one_batch
from whylight.views.filling import Filler
from whylight.views.texts import TextBatch, TextWindow
from whylight.views.tokens import TokenBatch, TokenWindow


class _Written(NamedTuple):
    """A feature as it is written.

    Attributes:
        word: It, or what stands for it.
        between: What is put between it and the feature before.
        before: Everything before it, in the same text.
    """

    word: str
    between: str
    before: str


def rewritten(window: TextWindow, fillings: Sequence[Mapping[int, str]]) -> TextBatch:
    """Write words into the text.

    Args:
        window: The text.
        fillings: Words for the features that change, row by row.
    """
    texts, together = (window.text,), _together((window.text,), window.spans)
    end = window.spans[-1].end if window.spans else 0
    read = (_read(texts, window.spans, together, filled) for filled in fillings)
    return TextBatch(tuple("".join(one.between + one.word for one in row) + window.text[end:] for row in read))


def spliced(
    window: TokenWindow, fillings: Sequence[Mapping[int, str]], places: Sequence[Span], filler: Filler
) -> TokenBatch:
    """Put the tokens of words into the row, in the place of the tokens of removed ones.

    Args:
        window: The row.
        fillings: Words for the features that change, by their number among those of the window, row by row.
        places: Where these features stand.
        filler: Who knows how words are spelled.
    """
    own = [np.flatnonzero(window.feature == feature) for feature in window.features]
    together, limit = _together(window.texts, places), window.chunk_size or filler.limit
    rows, types = [], []
    for filled in fillings:
        spelled, moved = dict[int, Ints](), dict[int, Ints]()
        for number, one in enumerate(_read(window.texts, places, together, filled)):
            if number in filled:
                spelled[number] = filler.spelled(one.word, one.before[-1:])
            elif number - 1 in filled and one.before[-1:].isspace() and not _starts_apart(window, places[number]):
                moved[number] = _moved(window, places[number], window.ids[own[number]], filler)
        changes = spelled | moved
        longer = sum(len(ids) - len(own[number]) for number, ids in changes.items())
        if limit is not None and len(window.ids) + longer > limit:  # kept words are not cut: they stay as they were
            changes = {number: ids[: len(own[number])] for number, ids in spelled.items()}
        counts = np.ones(len(window.ids), dtype=np.int64)
        for number, ids in changes.items():
            counts[own[number]] = 0
            counts[own[number][0]] = len(ids)
        row = np.repeat(window.ids, counts)
        starts = np.cumsum(counts) - counts
        for number, ids in changes.items():
            start = starts[own[number][0]]
            row[start : start + len(ids)] = ids
        rows.append(row)
        types.append(np.repeat(window.types, counts))
    return one_batch(rows, types)


def _together(texts: Sequence[str], places: Sequence[Span]) -> list[bool]:
    """Say which features are one word with what stands before them, in the untouched text."""
    return [one_word(texts[one.part][: one.start], texts[one.part][one.start : one.end]) for one in places]


def _read(
    texts: Sequence[str], places: Sequence[Span], together: Sequence[bool], filled: Mapping[int, str]
) -> Iterator[_Written]:
    """Return features as they are written, in reading order."""
    before, last = "", Span(-1, 0, 0)
    for number, span in enumerate(places):
        if span.part != last.part:
            before, last = "", Span(span.part, 0, 0)
        between = texts[span.part][last.end : span.start]
        word = filled.get(number, texts[span.part][span.start : span.end])
        changed = number in filled or number - 1 in filled
        before += between
        if changed and not together[number] and one_word(before, word):
            between, before = f"{between} ", f"{before} "
        yield _Written(word, between, before)
        before, last = before + word, span


def _starts_apart(window: TokenWindow, place: Span) -> bool:
    """Say whether a blank stands before a feature of the untouched text."""
    return window.texts[place.part][: place.start][-1:].isspace()


def _moved(window: TokenWindow, place: Span, ids: Ints, filler: Filler) -> Ints:
    """Return the tokens of a kept word behind a blank; those that a blank does not change stay as they are."""
    text = window.texts[place.part]
    word = text[place.start : place.end]
    here, apart = filler.spelled(word, text[: place.start][-1:]), filler.spelled(word, " ")
    shorter = min(len(here), len(apart))
    differ = np.flatnonzero(here[len(here) - shorter :] != apart[len(apart) - shorter :])
    alike = shorter - 1 - int(differ[-1]) if len(differ) else shorter
    head = len(here) - alike
    if not np.array_equal(ids[:head], here[:head]):  # it shares a token with the word before
        return apart
    return np.concatenate([apart[: len(apart) - alike], ids[head:]])
