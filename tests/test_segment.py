"""Words and sentences by character offsets, for any Unicode."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given, strategies as st

from whylight.core.segment import one_word, sentences, words

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
AWKWARD = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from(" \n\t.!?'’-_aé1\u0301\u200d\u200c\ufe0f\u20e3\u00a0\u2003\u3000\x00\x1c\U0001f3fd\U0001f468"),
    ),
    max_size=40,
)


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in words(text)]


def check_covers(text: str, spans: list[tuple[int, int]]) -> None:
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    covered = {i for start, end in spans for i in range(start, end)}
    assert {i for i, character in enumerate(text) if not character.isspace()} <= covered


@given(AWKWARD)
@example("e\u0301")
@example(FAMILY)
@example("\u0301 \u0301")
def test_words_are_ordered_disjoint_and_cover_every_visible_character(text: str) -> None:
    spans = words(text)
    check_covers(text, spans)
    for start, end in spans:
        assert not any(character.isspace() for character in text[start:end])


@given(AWKWARD)
@example("One. Two.")
@example("...\n\n...")
def test_sentences_are_ordered_disjoint_and_cover_every_visible_character(text: str) -> None:
    spans = sentences(text)
    check_covers(text, spans)
    for start, end in spans:
        assert not text[start].isspace()
        assert not text[end - 1].isspace()


@given(AWKWARD)
def test_no_word_crosses_a_sentence(text: str) -> None:
    ends = {end for _, end in sentences(text)}
    for start, end in words(text):
        assert not any(start < border < end for border in ends), (text[start:end], sentences(text))


@given(AWKWARD)
def test_a_mark_never_starts_a_word_unless_nothing_stands_before_it(text: str) -> None:
    for start, _ in words(text):
        if unicodedata.category(text[start]).startswith("M"):
            assert start == 0 or text[start - 1].isspace()


PIECES = st.text(st.sampled_from(" \n.,(é1a_电क\u093f\u094d\u0301\u200c\ufe0f"), max_size=5)


@given(PIECES, PIECES)
@example("cafe\u0301", "but")
@example("cafe", "\u0301")
@example("a_", "b")
@example(",\u0301", "b")
def test_two_texts_are_one_word_where_a_word_of_both_has_letters_of_each(before: str, after: str) -> None:
    border = len(before)
    across = "".join(before[start:border] for start, end in words(before + after) if start < border < end)
    assert one_word(before, after) == any(character.isalnum() or character == "_" for character in across)


@given(
    st.lists(
        st.sampled_from([FAMILY, "\U0001f44d\U0001f3fd", "\u2764\ufe0f", "1\ufe0f\u20e3", "a\u0301", "ко\u0306т"]),
        min_size=1,
    )
)
def test_clusters_between_spaces_stay_whole(clusters: list[str]) -> None:
    assert cut(" ".join(clusters)) == clusters


@given(st.text(st.sampled_from("aéñüZ' -’.,й1"), max_size=20))
@example("café's")
@example("café-bar")
def test_a_decomposed_text_has_the_words_of_the_composed_one(text: str) -> None:
    composed, decomposed = unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)
    assert [unicodedata.normalize("NFC", word) for word in cut(decomposed)] == cut(composed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A gripping, moving film.", ["A", "gripping", ",", "moving", "film", "."]),
        ("don't state-of-the-art it’s", ["don't", "state-of-the-art", "it’s"]),
        ("'quoted' -dash- a--b", ["'", "quoted", "'", "-", "dash", "-", "a", "-", "-", "b"]),
        ("3.5 stars!!", ["3", ".", "5", "stars", "!", "!"]),
        ("snake_case x2", ["snake_case", "x2"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("שָׁלוֹם עולם", ["שָׁלוֹם", "עולם"]),
        (f"hi {FAMILY}!", ["hi", FAMILY, "!"]),
        ("a\x00b", ["a", "\x00", "b"]),
        ("<b>x</b>", ["<", "b", ">", "x", "<", "/", "b", ">"]),
        ("   ", []),
        ("", []),
    ],
)
def test_words_by_example(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ('He said "stop." Then left.', ['He said "stop."', "Then left."]),
        ("Dr. Smith came. He left.", ["Dr. Smith came.", "He left."]),
        ("J. Smith, e.g. this one, costs 3.5 a day.", ["J. Smith, e.g. this one, costs 3.5 a day."]),
        ("No full stop", ["No full stop"]),
        ("Title\n\nBody text. More.", ["Title", "Body text.", "More."]),
        ("好电影。很好！", ["好电影。", "很好！"]),
        ("Wait... what?! Yes.", ["Wait...", "what?!", "Yes."]),
    ],
)
def test_sentences_by_example(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == expected
