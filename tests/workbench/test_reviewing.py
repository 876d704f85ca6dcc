"""What events come to: decisions, marks, undo and redo, and what is refused."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from whylight.core.errors import WhylightError
from whylight.core.text import Span
from whylight.workbench.reviewing import KINDS, OF_LABELS, OF_SPANS, Event, Review, checked_event, overlap, review_of

SPANS = st.builds(lambda start, size: Span(0, start, start + size), st.integers(0, 20), st.integers(1, 5))
LABELS = st.sampled_from(["a", "b"])


@st.composite
def events(draw: Any, kinds: tuple[str, ...] = KINDS) -> Event:
    kind = draw(st.sampled_from(kinds))
    return Event(
        kind,
        draw(LABELS) if kind in OF_LABELS else None,
        draw(SPANS) if kind in OF_SPANS else None,
        draw(SPANS) if kind == "correct" else None,
        draw(st.text(max_size=3)) if kind == "note" else None,
    )


ACTIONS = (*OF_LABELS, "note")


def meaning(review: Review) -> tuple[Any, ...]:
    return (dict(review.decisions), dict(review.marked), dict(review.refused), review.note, review.done)


@given(st.lists(events()), events(kinds=ACTIONS))
def test_an_action_and_its_undo_change_nothing(before: list[Event], action: Event) -> None:
    assert meaning(review_of([*before, action, Event("undo")])) == meaning(review_of(before))


@given(st.lists(events()), events(kinds=ACTIONS))
def test_undo_and_redo_change_nothing(before: list[Event], action: Event) -> None:
    once = review_of([*before, action])
    assert meaning(review_of([*before, action, Event("undo"), Event("redo")])) == meaning(once)
    assert once.undoable
    assert not once.redoable


@given(st.lists(events()))
def test_a_stretch_is_marked_or_refused_and_marks_never_overlap(every: list[Event]) -> None:
    found = review_of(every)
    assert found.version == len(every)
    for label, own in found.marked.items():
        assert not set(own) & set(found.refused.get(label, ()))
        assert not any(overlap(one, other) for one in own for other in own if one is not other)
        assert list(own) == sorted(own)


@given(st.lists(events(kinds=ACTIONS), min_size=1))
def test_as_many_undos_as_actions_lead_back_to_nothing(actions: list[Event]) -> None:
    back = review_of([*actions, *([Event("undo")] * len(actions))])
    assert meaning(back) == meaning(Review())
    assert not back.undoable
    again = review_of([*actions, *([Event("undo")] * len(actions)), *([Event("redo")] * len(actions))])
    assert meaning(again) == meaning(review_of(actions))


def test_done_is_not_undone_and_a_label_can_be_cleared() -> None:
    span = Span(0, 0, 3)
    every = [Event("accept", "a"), Event("mark", "a", span), Event("done"), Event("undo")]
    assert review_of(every).done
    assert review_of(every).marked == {}
    assert meaning(review_of([*every[:2], Event("clear", "a")])) == meaning(Review())
    assert not review_of([*every, Event("reopen")]).done


def test_a_correction_moves_the_mark() -> None:
    one, other = Span(0, 0, 3), Span(0, 1, 8)
    found = review_of([Event("mark", "a", one), Event("correct", "a", one, other)])
    assert (found.marked, found.refused) == ({"a": (other,)}, {"a": (one,)})


TEXT = "fever 😀 and cough"
WHOLE = {"part": 0, "start": 8, "end": 11, "text": "and"}


def test_offsets_are_code_points_and_the_text_must_stand_there() -> None:
    found = checked_event({"kind": "mark", "label": "a", "span": WHOLE}, parts=(TEXT,), labels=["a"], before=[])
    assert TEXT[found.span.start : found.span.end] == "and"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given_event", "part"),
    [
        ({"kind": "burn"}, "burn"),
        ({}, "None"),
        ({"kind": "accept"}, "needs label"),
        ({"kind": "done", "label": "a"}, "has no label"),
        ({"kind": "accept", "label": "z"}, "'z'"),
        ({"kind": "accept", "label": "a", "span": WHOLE}, "other spans"),
        ({"kind": "mark", "label": "a"}, "other spans"),
        ({"kind": "correct", "label": "a", "span": WHOLE}, "other spans"),
        ({"kind": "mark", "label": "a", "span": {**WHOLE, "text": "nd "}}, "another one"),
        ({"kind": "mark", "label": "a", "span": {**WHOLE, "end": 99}}, "outside"),
        ({"kind": "mark", "label": "a", "span": {**WHOLE, "start": -3}}, "outside"),
        ({"kind": "mark", "label": "a", "span": {**WHOLE, "part": 1}}, "outside"),
        ({"kind": "mark", "label": "a", "span": {**WHOLE, "start": True}}, "whole numbers"),
        ({"kind": "mark", "label": "a", "span": {"part": 0, "start": 5, "end": 6, "text": " "}}, "white space"),
        ({"kind": "mark", "label": "a", "span": [0, 1, 2]}, "an object"),
        ({"kind": "note"}, "needs note"),
        ({"kind": "note", "note": "x" * 10_001}, "at most"),
        ({"kind": "undo"}, "nothing to undo"),
        ({"kind": "redo"}, "nothing to redo"),
    ],
)
def test_what_makes_no_sense_is_refused(given_event: dict[str, Any], part: str) -> None:
    with pytest.raises(WhylightError, match=part):
        checked_event(given_event, parts=(TEXT,), labels=["a"], before=[])
