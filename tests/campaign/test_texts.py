"""The campaign of texts, in its short form; and that it would see what it looks for."""

from typing import Any

import numpy as np
import pytest
import texts

from whylight.core import segment
from whylight.models import chunking, tokenised
from whylight.models.slots import Slot

SCALE = 0.004


def test_no_encoding_breaks_a_promise() -> None:
    outcome = texts.campaign(SCALE, seed=1)
    assert outcome.violations == []
    assert outcome.tried == {"texts": 400, "encodings": 2000}


def test_the_same_seed_tries_the_same_texts() -> None:
    assert texts.campaign(0.0002, seed=3) == texts.campaign(0.0002, seed=3)


def shifted(*arguments: Any, first: int, **options: Any) -> Any:
    return ORIGINAL(*arguments, first=0, **options) + first


def unpatched_spans(text: str, offsets: Any, anchors: Any) -> Any:
    found = ORIGINAL_SPANS(text, offsets, anchors)
    return found if any(anchor is not None for anchor in anchors) else []


ORIGINAL, ORIGINAL_SPANS = tokenised._owners, tokenised._token_spans


def test_a_token_that_is_credited_to_the_other_text_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault that was: -1 plus an offset."""
    monkeypatch.setattr(tokenised, "_owners", shifted)
    monkeypatch.setattr(tokenised, "_token_spans", unpatched_spans)
    violations = texts.broken("unigram", texts.Text("a film", "\x18\x0c"), "token", 512)
    assert any("has a feature of part 0" in one for one in violations)
    assert any("has a feature of part 0" in one for one in texts.campaign(0.003, seed=0).violations)


@pytest.mark.parametrize(
    ("module", "name", "fault", "sentence"),
    [
        (segment, "words", lambda text: [(0, len(text.rstrip()) - 1)], "in no feature|out of range"),
        (segment, "words", lambda text: [(0, len(text)), (0, len(text))], "overlap or are out of order"),
        (chunking, "windows", lambda n, **_: [(0, n)], "longer than the limit"),
        (chunking, "windows", lambda n, **_: [(0, 1), (2, n)], "lost between two windows|longer than the limit"),
        (chunking, "windows", lambda _, **__: [(0, 1), (1, 2)], "are in no window"),
        (tokenised, "_owners", lambda anchors, *_, **__: np.full(len(anchors), -1), "has no feature"),
        (tokenised, "_owners", lambda anchors, *_, **__: np.full(len(anchors), 0), "belongs to"),
        (tokenised, "layout", lambda *_, **__: [Slot(0, np.asarray([]), 0)], "IndexError|own call"),
    ],
)
def test_a_planted_fault_is_seen(
    module: Any, name: str, fault: Any, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, fault)
    violations = texts.campaign(SCALE / 4, seed=0).violations
    assert any(part in one for one in violations for part in sentence.split("|"))
