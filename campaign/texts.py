"""Random texts x real tokenizers x units: every token in its place, every character in a word, nothing lost.

Each text is encoded by one kind of tokenizer as words, tokens and sentences, with the room of a random limit, and with
the text before it as a pair in both orders. Held against: the text itself, and what the tokenizer alone says of it.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from material.fuzz import text as random_text
from material.tokenizers import KINDS
from outcome import Outcome

from whylight.core.encoded import TEXT_UNITS, Encoded, Unit
from whylight.core.errors import WhylightError
from whylight.core.text import Text
from whylight.models.tokenised import encode
from whylight.views.tokens import NO_FEATURE, TokenWindow

TEXTS = 100_000
LIMITS = (512, 512, 64, 24, 11)
"""Tokens that the model reads; most texts fit into the first, few into the last."""

ASKED = {"split_special_tokens": True, "verbose": False}
"""How a tokenizer is asked: a special token that stands in a text is text."""


@dataclass(frozen=True)
class Alone:
    """What the tokenizer itself says: of each part its ids and offsets, and of the whole its ids and part numbers."""

    parts: tuple[tuple[list[int], list[tuple[int, int]]], ...]
    ids: list[int]
    sequence: list[int | None]


def campaign(scale: float, seed: int) -> Outcome:
    """Encode random texts, and hold every encoding against the text and the tokenizer alone."""
    draw, violations = random.Random(seed), list[str]()
    texts, encodings, before = round(TEXTS * scale), 0, "A gripping film."
    kinds = list(KINDS)
    for number in range(texts):
        kind, one = kinds[number % len(kinds)], random_text(draw)
        limit, unit = draw.choice(LIMITS), draw.choice(TEXT_UNITS)
        asked: list[tuple[Text, Unit]] = [(Text(one), each) for each in TEXT_UNITS]
        asked += [(Text(one, before), unit), (Text(before, one), unit)]
        for example, own in asked:
            encodings += 1
            found = [
                f"{kind}, {own}, limit {limit}, {example.parts!r}: {what}" for what in broken(kind, example, own, limit)
            ]
            violations += found
        before = one
    return Outcome({"texts": texts, "encodings": encodings}, violations)


def broken(kind: str, example: Text, unit: Unit, limit: int) -> list[str]:
    """Return the promises that one encoding breaks; a text that is refused in a sentence breaks none."""
    tokenizer = KINDS[kind]()
    try:
        encoded = encode(tokenizer, example, unit=unit, long="window", limit=limit)
    except WhylightError:
        return []
    except Exception as error:  # noqa: BLE001  whatever it is, it must not reach a user
        return [f"{type(error).__name__}: {error}"]
    alone = _alone(tokenizer, example)
    return [*_spans(encoded), *_covered(encoded), *_windows(encoded, alone, limit), *_tokens(encoded, alone)]


def _alone(tokenizer: Any, example: Text) -> Alone:
    parts = []
    for text in example.parts:
        own = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, **ASKED)
        parts.append((list(own["input_ids"]), list(own["offset_mapping"])))
    whole = tokenizer(*example.parts, **ASKED)
    return Alone(tuple(parts), list(whole["input_ids"]), list(whole.sequence_ids(0)))


def _spans(encoded: Encoded) -> Iterator[str]:
    """Spans are not empty, in range, in order and apart, and slice back."""
    parts = encoded.example.parts
    for span in encoded.places:
        if not 0 <= span.start < span.end <= len(parts[span.part]):
            yield f"{span} is empty or out of range"
        elif encoded.example.show(span) != parts[span.part][span.start : span.end]:
            yield f"{span} does not slice back"
    for first, second in pairwise(encoded.places):
        if (first.part, first.end) > (second.part, second.start):
            yield f"{first} and {second} overlap or are out of order"


def _covered(encoded: Encoded) -> Iterator[str]:
    """Words and sentences leave out no visible character; tokens may, where the tokenizer throws it away."""
    for number, text in enumerate(encoded.example.parts if encoded.unit != "token" else ()):
        covered = {i for span in encoded.places if span.part == number for i in range(span.start, span.end)}
        missing = [i for i, character in enumerate(text) if i not in covered and not character.isspace()]
        if missing:
            yield f"character {missing[0]} of part {number} is in no feature"


def _windows(encoded: Encoded, alone: Alone, limit: int) -> Iterator[str]:
    """Windows keep the limit and lose no token; a text that fits is what the tokenizer makes of it."""
    if any(len(window.ids) > limit for window in encoded.windows):
        yield "a window is longer than the limit"
    if len(encoded.windows) == 1:
        if encoded.windows[0].ids.tolist() != alone.ids:
            yield "the ids are not those of the tokenizer's own call"
        return
    longer = max(range(len(alone.parts)), key=lambda part: len(alone.parts[part][0]))
    ids, ends = alone.parts[longer][0], {0}
    for window in encoded.windows:
        own = [int(token) for token, part in zip(window.ids, _parts(encoded, window), strict=True) if part == longer]
        starts = [i for i in range(max(ends) + 1) if ids[i : i + len(own)] == own]
        ends = {i + len(own) for i in starts if any(i <= end < i + len(own) for end in ends)}  # tokens may repeat
        if not ends:
            yield "tokens are lost between two windows"
            return
    if len(ids) not in ends:
        yield f"the last {len(ids) - max(ends)} tokens are in no window"


def _tokens(encoded: Encoded, alone: Alone) -> Iterator[str]:
    """Every token of the text has a feature, and no special token has one."""
    specials = alone.sequence.count(None)
    for window in encoded.windows:
        if window.feature.tolist().count(NO_FEATURE) != specials:
            yield "a token of the text has no feature, or a special one has"
            return
    if len(encoded.windows) == 1:
        places = [iter(offsets) for _, offsets in alone.parts]
        for feature, part in zip(encoded.windows[0].feature.tolist(), alone.sequence, strict=True):
            if part is not None:
                yield from _token(encoded, feature, part, *next(places[part]))


def _token(encoded: Encoded, feature: int, part: int, start: int, end: int) -> Iterator[str]:
    """A token belongs to a feature of its own part, the one that holds its first visible character."""
    span, text = encoded.places[feature], encoded.example.parts[part]
    visible = next((i for i in range(start, end) if not text[i].isspace()), None)
    if feature == NO_FEATURE or span.part != part:
        yield f"the token at {start}-{end} of part {part} has a feature of part {span.part}"
    elif visible is not None and not span.start <= visible < span.end:
        yield f"the token at {start}-{end} of part {part} belongs to {span}"


def _parts(encoded: Encoded, window: TokenWindow) -> list[int | None]:
    """Return the part that the feature of each token is of, or None for one without."""
    return [None if i == NO_FEATURE else encoded.places[i].part for i in window.feature.tolist()]
