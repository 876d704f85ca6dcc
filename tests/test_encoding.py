"""Tokens and their features, with real tokenizers of every kind."""

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whylight.core.encoded import Encoded, Unit
from whylight.core.errors import InputError
from whylight.core.text import Text
from whylight.models.tokenised import _token_spans, encode
from whylight.views.tokens import NO_FEATURE

sys.path.insert(0, str(Path(__file__).parents[1] / "campaign"))
from material.tokenizers import KINDS

every_kind = pytest.mark.parametrize("kind", KINDS)
every_unit = pytest.mark.parametrize("unit", ["word", "token", "sentence"])
FILM = "A gripping film. It never drags!"
NOTHING_SEEN = ("\x18\x0c", "\x18 \x0c \x19", "\x00", "\u200b", "\u200d\u200d", "\xad", "\ufeff x", "a")
"""Visible to Python, but not to every tokenizer."""

UNSEEN_BY_WORDPIECE = NOTHING_SEEN[:6]
LEFT_NOTHING = {"wordpiece uncased": UNSEEN_BY_WORDPIECE, "wordpiece cased": UNSEEN_BY_WORDPIECE}
"""Texts of which the tokenizers of some kinds leave nothing."""


def refusal(expected: bool) -> AbstractContextManager[object]:  # noqa: FBT001  one argument, which is the question
    return pytest.raises(InputError, match="the tokenizer leaves nothing of the text") if expected else nullcontext()


def encoded(kind: str, text: str, pair: str | None = None, *, unit: Unit, limit: int = 512) -> Encoded:
    return encode(KINDS[kind](), Text(text, pair), unit=unit, long="window", limit=limit)


def content_parts(kind: str, text: str, pair: str | None) -> list[int | None]:
    found: list[int | None] = KINDS[kind]()(text, pair, split_special_tokens=True).sequence_ids(0)
    return found


def feature_parts(one: Encoded) -> list[int | None]:
    spans = one.places
    return [None if i == NO_FEATURE else spans[i].part for i in one.windows[0].feature.tolist()]


@every_kind
@every_unit
@pytest.mark.parametrize("nothing", NOTHING_SEEN)
@pytest.mark.parametrize("order", ["first", "second"])
def test_every_token_belongs_to_a_feature_of_its_own_part(kind: str, unit: Unit, nothing: str, order: str) -> None:
    text, pair = {"first": (nothing, FILM), "second": (FILM, nothing)}[order]
    assert feature_parts(encoded(kind, text, pair, unit=unit)) == content_parts(kind, text, pair)


@every_kind
@every_unit
@pytest.mark.parametrize("text", NOTHING_SEEN)
def test_a_text_alone_is_refused_exactly_if_the_tokenizer_leaves_nothing_of_it(
    kind: str, unit: Unit, text: str
) -> None:
    expected = content_parts(kind, text, None)
    assert (set(expected) == {None}) == (text in LEFT_NOTHING.get(kind, ()))
    with refusal(text in LEFT_NOTHING.get(kind, ())):
        assert feature_parts(encoded(kind, text, unit=unit)) == expected


@every_unit
def test_a_part_without_a_visible_token_is_one_feature_of_its_own(unit: Unit) -> None:
    one = encoded("unigram", FILM, "\x18\x0c", unit=unit)
    assert KINDS["unigram"]().tokenize("\x18\x0c") == ["▁"]
    second = [(span.start, span.end) for span in one.places if span.part == 1]
    assert second == [(0, 1)]
    assert one.windows[0].feature.tolist().count(len(one.places) - 1) == 1


def test_removing_the_last_word_leaves_the_other_part_alone() -> None:
    one = encoded("unigram", FILM, "\x18\x0c", unit="token")
    last_of_first = max(i for i, span in enumerate(one.places) if span.part == 0)
    touched = np.flatnonzero(one.windows[0].feature == last_of_first)
    parts: Any = content_parts("unigram", FILM, "\x18\x0c")
    assert {parts[i] for i in touched} == {0}


def test_spans_of_tokens_never_overlap_even_if_offsets_go_back() -> None:
    text = "abcdef"
    offsets = [(0, 1), (2, 3), (4, 5), (1, 4), (5, 6)]
    assert _token_spans(text, offsets, [start for start, _ in offsets]) == [(0, 1), (1, 5), (5, 6)]
