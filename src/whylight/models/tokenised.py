"""From an example to token ids whose every piece knows its feature.

A token belongs to the feature that holds its first non-space character; a token of white space alone joins the next
feature. Special tokens belong to none. Offsets are Python character indices, so that they slice back for any Unicode.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whylight.core import segment
from whylight.core.arrays import Ints
from whylight.core.encoded import Encoded, Long, Unit
from whylight.core.errors import InputError, ModelError
from whylight.core.text import Span, Text
from whylight.models import chunking
from whylight.models.folder import is_failure, reason
from whylight.models.slots import Frame, Offsets, Reading, layout
from whylight.views.tokens import NO_FEATURE, TokenWindow

Anchors = list[int | None]
"""The first visible character of each token, or None where it has none."""
LONGEST_EXAMPLE = 30
"""Characters of a text that a note quotes."""


@dataclass(frozen=True, slots=True)
class TextTokens:
    """The tokens of one text: ids, the feature of each, where words start, what is several features in one token."""

    ids: Ints
    feature: Ints
    boundaries: list[int]
    joint: list[str]


def check_text(example: Text) -> None:
    """Refuse what no tokenizer can read and what holds nothing to explain."""
    for name, text in zip(("text", "pair"), example.texts, strict=False):
        if not isinstance(text, str):
            raise InputError(f"the {name} must be a string, not {type(text).__name__}.")
        if not text.strip():
            raise InputError(f"the {name} is empty; there is no word to explain.")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(f"the {name} holds half a character (a lone surrogate) at {error.start}.") from None


def units(example: Text, unit: Unit, *, part: int = 0) -> Offsets:
    """Return the offsets of the words or sentences of one part; a data set's own words come first, a block is one."""
    text = example.parts[part]
    if part >= len(example.texts):
        return [(len(text) - len(text.lstrip()), len(text.rstrip()))]
    if unit == "sentence":
        return segment.sentences(text)
    if example.words is None:
        return segment.words(text)
    own = [(span.start, span.end) for span in example.words if span.part == part]
    gaps = zip([0, *(end for _, end in own)], [*(start for start, _ in own), len(text)], strict=True)
    if any(text[end:start].strip() or start < end for end, start in gaps):
        raise InputError("the words that came with the text overlap, are out of order or leave out a character of it.")
    return own


def encode(  # noqa: PLR0913  one keyword per fact of the model
    tokenizer: Any,  # noqa: ANN401
    example: Text,
    *,
    unit: Unit,
    long: Long,
    limit: int,
    replacements: Mapping[str, int] | None = None,
    reading: Reading | None = None,
) -> Encoded:
    """Encode an example into windows of at most `limit` tokens.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        example: What to encode.
        unit: What a feature is.
        long: What to do with a text that does not fit.
        limit: Tokens that the model reads at once, special ones included.
        replacements: Ids of the tokens that may stand for a removed one, by name.
        reading: The texts as they stand in a prompt; by default they stand between the tokenizer's special tokens.
    """
    check_text(example)
    parts: dict[int, TextTokens] = {}
    spans: list[Span] = []
    for number in range(len(example.texts)) if reading is None else reading.parts:
        own = None if reading is None else reading.parts[number]
        parts[number], offsets = _part(tokenizer, example, number, unit=unit, first=len(spans), tokens=own)
        spans += [Span(number, start, end) for start, end in offsets]
    texts = [number for number in parts if number < len(example.texts)]
    if not any(len(parts[number].ids) for number in texts):
        raise InputError("the tokenizer leaves nothing of the text; there is no word to explain.")
    slots = layout(tokenizer, pair=example.pair is not None) if reading is None else reading.slots
    frame = Frame(slots, replacements or {})
    capacity = limit - frame.size
    encoded = Encoded(example, unit, tuple(spans), ())
    if sum(len(part.ids) for part in parts.values()) <= capacity:
        read = replace(encoded, windows=(_window(frame, parts),))
    else:
        read = _cut(encoded, frame, parts, texts=texts, long=long, limit=limit)
    rows = (one for one in read.windows if isinstance(one, TokenWindow))
    windows = tuple(replace(one, texts=example.parts, spans=read.places) for one in rows)
    read, border = replace(read, windows=windows), (() if reading is None else reading.notes)
    joint = [text for part in parts.values() for text in part.joint]
    return replace(read, notes=(*read.notes, *border, *_joint_notes(joint, unit)))


def _part(
    tokenizer: Any,  # noqa: ANN401
    example: Text,
    number: int,
    *,
    unit: Unit,
    first: int,
    tokens: tuple[list[int], Offsets] | None,
) -> tuple[TextTokens, Offsets]:
    """Tokenise one part, unless that is done; features are numbered from `first`."""
    text = example.parts[number]
    ids, offsets = tokens_of(tokenizer, text) if tokens is None else tokens
    anchors: Anchors = [first_visible(text, start, end) for start, end in offsets]
    own_words = units(example, "word", part=number)
    words = _owners(anchors, own_words, length=len(text), first=first)
    boundaries = [i for i in range(len(words)) if i == 0 or words[i] != words[i - 1]]
    if unit == "word" or number >= len(example.texts):
        features, owners = own_words, words
    else:
        features = units(example, unit, part=number) if unit == "sentence" else _token_spans(text, offsets, anchors)
        owners = _owners(anchors, features, length=len(text), first=first)
    unknown = [token == tokenizer.unk_token_id for token in ids]
    starts = [start for start, _ in features]
    joint = [
        text[start:end]
        for (start, end), anchor, odd in zip(offsets, anchors, unknown, strict=True)
        # a known run of signs ("...") is one token in many vocabularies, and not worth a word
        if _several(starts, anchor, end) and (odd or any(map(str.isalnum, text[start:end])))
    ]
    return TextTokens(np.asarray(ids, dtype=np.int64), owners, boundaries, joint), features


def tokens_of(tokenizer: Any, text: str, *, controls: bool = False) -> tuple[list[int], Offsets]:  # noqa: ANN401  transformers' own types
    """Return the ids and offsets of a text's own tokens.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        text: The text.
        controls: Whether it may hold control tokens; a "[SEP]" that a user typed is text, and not structure.
    """
    options = {"add_special_tokens": False, "return_offsets_mapping": True, "split_special_tokens": not controls}
    try:
        found = tokenizer(text, verbose=False, **options)
    except BaseException as error:  # the tokenizers raise nothing more special
        if not is_failure(error):
            raise
        raise ModelError(f"the tokenizer cannot read the text: {reason(error)}") from error
    return list(found["input_ids"]), [(int(start), int(end)) for start, end in found["offset_mapping"]]


def _several(starts: list[int], anchor: int | None, end: int) -> bool:
    """Say whether a feature starts behind the first visible character of a token and before its end."""
    return anchor is not None and bisect_left(starts, end) > bisect_right(starts, anchor)


def _joint_notes(stretches: list[str], unit: Unit) -> list[str]:
    if not stretches:
        return []
    example = stretches[0] if len(stretches[0]) <= LONGEST_EXAMPLE else f"{stretches[0][:LONGEST_EXAMPLE]}..."
    several = "a token stands" if len(stretches) == 1 else f"{len(stretches)} tokens stand"
    return [f"{several} for several {unit}s at once (e.g. '{example}'); the first of them gets the whole score"]


def first_visible(text: str, start: int, end: int) -> int | None:
    """Return where the first character is that is no white space, or None where there is none."""
    return next((i for i in range(start, end) if not text[i].isspace()), None)


def _owners(anchors: Anchors, features: Offsets, *, length: int, first: int) -> Ints:
    """Return the feature of each token; one without a visible character takes the next token's, else the last's.

    Args:
        anchors: The first visible character of each token.
        features: Where the features of this text stand; there is one at least if there is a token.
        length: Characters of the text.
        first: The number of its first feature, which is not 0 in the second text of a pair.
    """
    of_character = np.full(length, NO_FEATURE)
    for number, (start, end) in enumerate(features, start=first):
        of_character[start:end] = number
    owners = np.full(len(anchors), NO_FEATURE)
    following = first + len(features) - 1
    for i in range(len(anchors) - 1, -1, -1):
        anchor = anchors[i]
        following = following if anchor is None else int(of_character[anchor])
        owners[i] = following
    return owners


def _token_spans(text: str, offsets: Offsets, anchors: Anchors) -> Offsets:
    """Return the spans of visible tokens; tokens that share a character (byte-level pieces) share a span.

    Where no token has a visible character (of a control character and a blank a tokenizer may keep the blank alone),
    what is visible of the text is the one feature that its tokens belong to.
    """
    spans: Offsets = []
    for anchor, (_, stop) in zip(anchors, offsets, strict=True):
        if anchor is None:
            continue
        start, end = anchor, stop
        while spans and start < spans[-1][1]:
            before = spans.pop()
            start, end = min(start, before[0]), max(end, before[1])
        spans.append((start, end))
    if offsets and not spans:
        return [(len(text) - len(text.lstrip()), len(text.rstrip()))]
    return spans


def _window(
    frame: Frame, parts: Mapping[int, TextTokens], *, cut: int = NO_FEATURE, span: tuple[int, int] = (0, 0)
) -> TokenWindow:
    """Assemble one row; of part `cut` only the tokens in `span` are taken."""
    ends = np.cumsum([len(part.ids) for part in parts.values()])
    token = {number: np.arange(end - len(parts[number].ids), end) for number, end in zip(parts, ends, strict=True)}
    rows = []
    for slot in frame.slots:
        if slot.part == NO_FEATURE:
            piece, owners = slot.ids, np.full(len(slot.ids), NO_FEATURE)
            number = owners
        else:
            chosen = slice(*span) if slot.part == cut else slice(None)
            piece, owners = parts[slot.part].ids[chosen], parts[slot.part].feature[chosen]
            number = token[slot.part][chosen]
        rows.append((piece, np.full(len(piece), slot.type), owners, number))
    ids, types, feature, numbers = (np.concatenate(field) for field in zip(*rows, strict=True))
    return TokenWindow(ids, types, feature, numbers, frame.replacements)


def _cut(
    encoded: Encoded, frame: Frame, parts: Mapping[int, TextTokens], *, texts: list[int], long: Long, limit: int
) -> Encoded:
    """Cut the longer text into windows; the shorter one, and what is around them, stands in each."""
    around = frame.size + sum(len(part.ids) for number, part in parts.items() if number not in texts)
    capacity = limit - around
    n_tokens = sum(len(parts[number].ids) for number in texts) + around
    if long == "refuse":
        raise InputError(
            f"the text has {n_tokens} tokens and the model reads {limit}; use --long window, segments or truncate."
        )
    if capacity < len(texts):
        raise InputError(f"the model reads {limit} tokens, of which {around} stand around the text, so no word fits.")
    longer = max(texts, key=lambda number: len(parts[number].ids))
    room = capacity - sum(len(parts[number].ids) for number in texts if number != longer)
    if len(texts) > 1 and room < max(1, capacity // 2):
        raise InputError(f"both texts are too long: the shorter one may have at most {capacity // 2} tokens.")
    part = parts[longer]
    spans = chunking.windows(len(part.ids), boundaries=part.boundaries, capacity=room)
    rows = tuple(_window(frame, parts, cut=longer, span=span) for span in spans)
    if long != "truncate":
        note = f"{n_tokens} tokens read in {len(rows)} overlapping windows of at most {limit}"
        how = "explained one by one, then blended" if long == "segments" else "the score is of their mean logit"
        return replace(encoded, windows=rows, notes=(f"{note}; {how}",))
    return _truncated(encoded, rows[0], longer=longer, note=f"truncated at {limit} of {n_tokens} tokens")


def _truncated(encoded: Encoded, row: TokenWindow, *, longer: int, note: str) -> Encoded:
    """Keep the features that the one window holds; those of the cut part beyond it do not exist for the model."""
    last = max(int(i) for i in row.features if encoded.places[i].part == longer)
    kept = [i for i, span in enumerate(encoded.places) if span.part != longer or i <= last]
    number = np.full(encoded.n_features + 1, NO_FEATURE)
    number[kept] = np.arange(len(kept))
    window = replace(row, feature=number[row.feature])
    return replace(encoded, places=tuple(encoded.places[i] for i in kept), windows=(window,), notes=(note,))
