"""A data set may bring its own words; they must cut the text without loss."""

import pytest

import quick
from whylight.core.errors import InputError
from whylight.core.rationale import Rationale
from whylight.core.text import Span, Text

TEXT = "well-made plot , good"


def test_the_words_that_come_with_a_text_are_its_features() -> None:
    own = (Span(0, 0, 9), Span(0, 10, 16), Span(0, 17, 21))
    explanation = quick.run(quick.classifier(), Text(TEXT, words=own), "occlusion")
    assert explanation.places == own
    assert [word for word, _ in explanation.as_list()] == ["well-made", "plot ,", "good"]


@pytest.mark.parametrize(
    "own",
    [
        (Span(0, 0, 9), Span(0, 10, 14), Span(0, 17, 21)),  # the comma is left out
        (Span(0, 0, 9), Span(0, 8, 16), Span(0, 17, 21)),  # two share a character
        (Span(0, 10, 16), Span(0, 0, 9), Span(0, 17, 21)),  # out of order
        (Span(0, 0, 9), Span(0, 10, 16)),  # the end is left out
    ],
)
def test_words_that_lose_or_share_a_character_are_refused(own: tuple[Span, ...]) -> None:
    with pytest.raises(InputError, match="words that came with the text"):
        quick.run(quick.classifier(), Text(TEXT, words=own), "occlusion")


def test_a_feature_is_gold_if_at_least_half_of_it_is_marked() -> None:
    features = [Span(0, 0, 4), Span(0, 5, 9), Span(0, 10, 13), Span(1, 0, 4), Span(0, 14, 14)]
    marked = Rationale((Span(0, 2, 6), Span(0, 10, 11), Span(0, 11, 12)))
    assert Text("").marks(marked.places, features).tolist() == [True, False, True, False, False]
