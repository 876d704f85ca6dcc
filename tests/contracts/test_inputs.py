"""Every method on every architecture, on the texts that break tools."""

from typing import Any

import numpy as np
import pytest

import quick
import tiny
from whylight.core.errors import WhylightError

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
INPUTS: dict[str, Any] = {
    "one word": "good",
    "one piece": "a",
    "punctuation": "?! ... -- '",
    "emoji": f"good {FAMILY} \U0001f600\U0001f3fd film \U0001f1e9\U0001f1ea 1\ufe0f\u20e3",
    "right to left": "הסרט היה good מאוד العربية",
    "combining": "cafe\u0301 नमस्ते good Z\u0351\u036b\u0343a\u0321",
    "nul": "good\x00movie \x00 plot\x00",
    "controls": "good\u200b \u200b plot\u00ad \x07 ending\r\n\t.",
    "html": "<b>good</b> <script>alert('plot')</script> &amp; <br/>",
    "specials": "good [SEP] [MASK] plot [CLS] [PAD] <s> </s> <unk> <mask> ending",
    "pair": ("The plot is good", "The film is not bad"),
    "pair of emoji": ("\U0001f600", "good \U0001f600"),
    "long": " ".join(["the film was never dull, but the plot drags"] * 9),
    "long word": "good" + "x" * 90 + " plot",
    "long pair": ("good plot", " ".join(["the film was never dull"] * 18)),
}


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("architecture", [*tiny.ARCHITECTURES, "plm_ca"])
@pytest.mark.parametrize("method", quick.METHOD_NAMES)
def test_whatever_the_text_spans_slice_back_and_scores_are_finite(method: str, architecture: str, name: str) -> None:
    given = INPUTS[name]
    explanation = quick.run(quick.classifier(architecture), given, method, target=0)
    parts = given if isinstance(given, tuple) else (given,)
    assert explanation.scores.shape == (1, len(explanation.spans))
    assert np.isfinite(explanation.scores).all()
    covered = [set[int]() for _ in parts]
    for span in explanation.spans:
        piece = parts[span.part][span.start : span.end]
        assert piece == explanation.example.show(span)
        assert piece
        assert not any(character.isspace() for character in piece)
        covered[span.part] |= set(range(span.start, span.end))
    for number, part in enumerate(parts):
        assert covered[number] == {i for i, character in enumerate(part) if not character.isspace()}
    assert list(explanation.spans) == sorted(explanation.spans)


@pytest.mark.parametrize("text", ["\u200b", "\x00", ("good", "\u200b"), ("\x00", "good")])
@pytest.mark.parametrize("unit", ["word", "token", "sentence"])
@pytest.mark.parametrize("method", quick.METHOD_NAMES)
def test_a_text_of_which_the_tokenizer_leaves_nothing_is_explained_or_refused(
    method: str, unit: str, text: Any
) -> None:
    try:
        explanation = quick.run(quick.classifier("bert"), text, method, unit=unit)
    except WhylightError as error:
        assert str(error).endswith(".")  # noqa: PT017  both ends are allowed, a crash is not
    else:
        assert np.isfinite(explanation.scores).all()


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_a_special_token_that_a_user_typed_is_text(architecture: str) -> None:
    clf = quick.classifier(architecture)
    text = "good [SEP] [MASK] plot </s> <mask> [CLS] <s>"
    window = quick.encode(clf, text).windows[0]
    own = set(clf.tokenizer.all_special_ids) - {clf.tokenizer.unk_token_id}
    assert not own & set(window.ids[window.feature >= 0].tolist())
    empty = quick.encode(clf, "good").windows[0]
    assert [i for i in window.ids.tolist() if i in own] == [i for i in empty.ids.tolist() if i in own]
