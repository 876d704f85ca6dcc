"""Evidence: the rule on explanations made by hand, and how pages and terminals show it."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pages import Document, explanation, terminal
from whylight.core.errors import SettingError
from whylight.core.evidence import Evidence, evidence
from whylight.core.explanation import Explanation
from whylight.core.segment import words
from whylight.core.text import Span
from whylight.models.load import load
from whylight.report.numbers import decision
from whylight.report.page import page
from whylight.report.renderers import with_evidence

NOTE = (
    "Admitted with  worsening dyspnoea.\n\n# Acute on chronic heart failure: diuresed with furosemide, eight litres.\n"
    "# Kidney injury, creatinine 2.9.\tUrine grew E. coli; ceftriaxone for five days. Home on day nine, in good "
    "spirits and without complaint, to be seen again in two weeks by the nurse."
)


def found(text: str, scores: Any, **options: Any) -> list[tuple[str, float]]:
    """The text and score of each span."""
    one = explanation(text, scores)
    return [(one.example.show(e.span), round(e.score, 9)) for e in evidence(one, one.targets[0], **options)]


def scored(text: str, **strong: float) -> list[float]:
    """Score the named words of a text, and every other word 0."""
    return [strong.get(text[start:end], 0.0) for start, end in words(text)]


def with_threshold(one: Explanation, threshold: float) -> Explanation:
    return replace(one, prediction=replace(one.prediction, threshold=threshold))


def test_adjacent_words_are_one_span_and_its_score_is_their_sum() -> None:
    assert found("a b c d e", [0.0, 3.0, 2.0, -9.0, 4.0], share=1) == [("b c", 5.0), ("e", 4.0)]


def test_words_of_two_parts_are_not_adjacent() -> None:
    one = explanation("a b", [0.0, 1.0, 1.0, 0.0], pair="c d")
    assert [e.span for e in evidence(one, one.targets[0], share=1)] == [Span(0, 2, 3), Span(1, 0, 1)]


def test_what_stands_between_adjacent_words_belongs_to_the_span() -> None:
    assert found("very \n\n good film", [1.0, 1.0, 0.0]) == [("very", 1.0)]
    assert found("very \n\n good film", [1.0, 1.0, 0.0], share=0.51) == [("very \n\n good", 2.0)]


def test_the_fewest_top_words_that_hold_the_share_are_taken() -> None:
    text, scores = "a b c d e f g", [4.0, -9.0, 3.0, 0.0, 2.0, -1.0, 1.0]
    assert found(text, scores, share=0.4) == [("a", 4.0)]
    assert found(text, scores, share=0.41) == [("a", 4.0), ("c", 3.0)]
    assert found(text, scores) == [("a", 4.0), ("c", 3.0)]
    assert found(text, scores, share=0.9) == [("a", 4.0), ("c", 3.0), ("e", 2.0)]
    assert found(text, scores, share=1) == [("a", 4.0), ("c", 3.0), ("e", 2.0), ("g", 1.0)]


def test_half_of_ten_equal_scores_is_five_of_them_whatever_floats_say() -> None:
    text = " ".join("abcdefghij")
    for score in (0.1, 1 / 3, 1e-9, 7e11):
        assert [part for part, _ in found(text, [score] * 10)] == ["a b c d e"]


def test_ties_go_by_reading_order_among_words_and_among_spans() -> None:
    assert found("a b c d", [1.0, 0.0, 1.0, 1.0], share=0.3) == [("a", 1.0)]
    assert found("a b c d e", [1.0, 0.0, 2.0, 0.0, 1.0], share=1) == [("c", 2.0), ("a", 1.0), ("e", 1.0)]


def test_two_weak_words_together_outrank_a_strong_one() -> None:
    assert found("a b c d", [3.0, 0.0, 2.0, 2.0], share=1) == [("c d", 4.0), ("a", 3.0)]


def test_at_most_so_many_spans_are_given() -> None:
    scores = [5.0, 0.0, 4.0, 0.0, 3.0]
    assert found("a b c d e", scores, share=1, spans=2) == [("a", 5.0), ("c", 4.0)]
    assert found("a b c d e", scores, spans=0) == []


@pytest.mark.parametrize("scores", [[-1.0, -2.0], [0.0, 0.0]])
def test_where_nothing_is_positive_there_is_no_evidence_and_that_is_said(scores: list[float]) -> None:
    one = explanation(NOTE, np.resize(scores, len(words(NOTE))))
    assert evidence(one, one.targets[0]) == ()
    assert with_evidence(one)[0]["evidence"] == []
    assert "None: no word has a positive score." in Document(page([one])).visible
    assert "evidence: none, no word has a positive score" in terminal(one)


def test_a_text_without_features_has_no_evidence() -> None:
    assert found(" ", np.zeros((1, 0))) == []


def test_features_that_share_characters_are_adjacent() -> None:
    one = explanation("😀 ok", [1.0, 2.0])
    spans = (Span(0, 0, 1), Span(0, 0, 1), Span(0, 0, 1), Span(0, 2, 4))
    shared = replace(one, places=spans, scores=np.array([[1.0, -4.0, 1.0, 0.0]]))
    assert [(e.span, e.score) for e in evidence(shared, one.targets[0], share=1)] == [(Span(0, 0, 1), 2.0)]


def test_the_context_is_whole_words_as_they_stand_in_the_text() -> None:
    one = explanation(NOTE, scored(NOTE, heart=1.0, failure=1.0))
    (span,) = evidence(one, one.targets[0], share=1, around=24)
    start = NOTE.index("heart failure")
    assert span == Evidence(0, start, start + 13, 2.0, ".\n\n# Acute on chronic ", ": diuresed with")
    (near,) = evidence(one, one.targets[0], share=1, around=len(NOTE))
    assert (near.before, near.after) == (NOTE[:start], NOTE[start + 13 :])
    (bare,) = evidence(one, one.targets[0], share=1, around=0)
    assert (bare.before, bare.after) == ("", "")


@pytest.mark.parametrize("wrong", [{"share": 0}, {"share": 1.5}, {"spans": -1}, {"around": -1}])
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="not"):
        found("a b", [1.0, 0.0], **wrong)


TEXTS = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=80)
SCORES = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6))


@settings(max_examples=200, deadline=None)
@given(st.data(), TEXTS, st.one_of(st.none(), TEXTS), st.floats(0.01, 1), st.integers(0, 70))
def test_spans_slice_back_do_not_overlap_and_hold_their_share(
    data: Any, text: str, pair: str | None, share: float, around: int
) -> None:
    count = sum(len(words(part)) for part in (text, pair or ""))
    one = explanation(text, np.array([data.draw(st.lists(SCORES, min_size=count, max_size=count))]), pair=pair)
    spans = evidence(one, one.targets[0], share=share, spans=count, around=around)
    assert [e.score for e in spans] == sorted((e.score for e in spans), reverse=True)
    assert all(a.part < b.part or a.end <= b.start for a, b in pairwise(sorted(spans, key=_place)))
    for e in spans:
        part, offsets = one.example.parts[e.part], words(one.example.parts[e.part])
        assert part[e.start - len(e.before) : e.start] == e.before
        assert part[e.end : e.end + len(e.after)] == e.after
        assert max(len(e.before), len(e.after)) <= around
        assert not any(a < e.start - len(e.before) < b or a < e.end + len(e.after) < b for a, b in offsets)
    positive = one.scores[one.scores > 0].sum()
    assert sum(e.score for e in spans) >= share * positive * (1 - 1e-9)
    for row in with_evidence(one):
        parts = (row["text"], row["pair"])
        assert all(parts[e["part"]][e["start"] : e["end"]] == e["text"] for e in row["evidence"])


def _place(one: Evidence) -> Span:
    return one.span


def test_json_says_probability_threshold_and_evidence_of_each_target() -> None:
    both = explanation("a b c", [[1.0, 0.0, 0.0], [0.0, -1.0, 3.0]], targets=(0, 1))
    first, second = with_evidence(with_threshold(both, 0.41))
    target = {"index": 0, "label": "negative", "description": None, "probability": 1 / 3, "threshold": 0.41}
    assert first["target"] == target
    place = {"part": 0, "start": 4, "end": 5, "text": "c"}
    assert second["evidence"] == [{**place, "score": 3.0, "before": "a b ", "after": ""}]
    assert with_evidence(both, spans=0)[0]["evidence"] is None
    assert "evidence" not in both.to_dicts()[0]
    assert both.to_dicts()[0]["target"]["threshold"] is None


def test_a_multi_label_model_hands_over_its_threshold_and_others_have_none() -> None:
    from whylight.explaining.explain import explain  # noqa: PLC0415  torch loads only here

    def answer(texts: list[str]) -> list[list[float]]:
        return [[0.9 if "heart" in text else 0.1, 0.6] for text in texts]

    one = explain(load(answer, labels=["I50", "J44"], head="sigmoid"), "his heart failed", method="occlusion")
    assert one.prediction.threshold == 0.5
    assert [one.example.show(e.span) for e in evidence(one, one.targets[0])] == ["heart"]
    assert evidence(one, one.targets[1]) == ()
    assert explain(load(), "a film", method="random").prediction.threshold is None


@pytest.mark.parametrize(
    ("probability", "threshold", "shown"),
    [
        (0.931, None, ("0.93", "")),
        (0.931, 0.41, ("0.93", "0.41")),
        (0.4123, 0.41, ("0.412", "0.410")),
        (0.5, 0.5, ("0.50", "0.50")),
        (0.9999, 0.5, ("0.9999", "0.5000")),
        (1.0, 0.5, ("1.00", "0.50")),
        (0.0004, None, ("0.0004", "")),
        (1e-9, 0.5, ("<0.000001", "0.50")),
        (1 - 1e-9, None, (">0.999999", "")),
        (0.41 + 1e-9, 0.41, ("0.410000", "0.410000")),
    ],
)
def test_a_probability_does_not_look_like_what_it_is_not(
    probability: float, threshold: float | None, shown: tuple[str, str]
) -> None:
    one = decision(probability, threshold)
    assert (one.probability, one.threshold) == shown
