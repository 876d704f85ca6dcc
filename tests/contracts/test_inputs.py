"""Texts of which the tokenizer leaves nothing, and special tokens that a user typed."""

from typing import Any

import pytest

import quick
import tiny
from whylight.core.errors import InputError
from whylight.core.text import Span

every_method = pytest.mark.parametrize("method", quick.METHOD_NAMES)


@every_method
@pytest.mark.parametrize("unit", ["word", "token", "sentence"])
@pytest.mark.parametrize("text", ["\u200b", "\x00"])
def test_a_text_of_which_the_tokenizer_leaves_nothing_is_refused(method: str, unit: str, text: str) -> None:
    with pytest.raises(InputError, match=r"^the tokenizer leaves nothing of the text; there is no word to explain\.$"):
        quick.run(quick.classifier("bert"), text, method, unit=unit)


@every_method
@pytest.mark.parametrize("unit", ["word", "token", "sentence"])
@pytest.mark.parametrize(
    ("text", "visible", "invisible"),
    [
        (("good", "\u200b"), Span(0, 0, 4), Span(1, 0, 1)),
        (("\x00", "good"), Span(1, 0, 4), Span(0, 0, 1)),
    ],
)
def test_of_a_pair_the_text_that_is_left_is_explained_and_the_other_is_a_word_without_a_token(
    method: str, unit: str, text: Any, visible: Span, invisible: Span
) -> None:
    found = quick.run(quick.classifier("bert"), text, method, unit=unit)
    assert set(found.spans) == ({visible} if unit == "token" else {visible, invisible})
    assert found.scores.shape == (1, len(found.spans))


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_a_special_token_that_a_user_typed_is_text(architecture: str) -> None:
    clf = quick.classifier(architecture)
    text = "good [SEP] [MASK] plot </s> <mask> [CLS] <s>"
    window = quick.encode(clf, text).windows[0]
    own = set(clf.tokenizer.all_special_ids) - {clf.tokenizer.unk_token_id}
    assert not own & set(window.ids[window.feature >= 0].tolist())
    empty = quick.encode(clf, "good").windows[0]
    assert [i for i in window.ids.tolist() if i in own] == [i for i in empty.ids.tolist() if i in own]
