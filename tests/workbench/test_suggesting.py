"""Suggestions: what was done again and again is offered where the model names the same words; nothing is done."""

from collections.abc import Iterator
from typing import Any

import pytest

import workbench_app
from whylight.core.text import Span, Text
from whylight.workbench.bench import Bench
from whylight.workbench.reviewing import Event, Review
from whylight.workbench.suggesting import REPEATED, Habit, Place, habits, suggested
from workbench_app import Browser, span

TEXT = Text("she takes ferrous sulfate daily")
FERROUS, PHRASE, DAILY = Span(0, 10, 17), Span(0, 10, 25), Span(0, 26, 31)
CORRECTED = Event("correct", "D50", FERROUS, PHRASE)


def streams(*events: Event, documents: int = REPEATED) -> dict[int, list[Event]]:
    return {number: list(events) for number in range(1, documents + 1)}


def texts(documents: int = REPEATED) -> dict[int, Text]:
    return dict.fromkeys(range(1, documents + 1), TEXT)


def test_what_is_done_in_three_documents_is_a_habit() -> None:
    found = habits(streams(CORRECTED), texts())
    assert found == {Habit("correct", "D50", "ferrous", "ferrous sulfate", 0): REPEATED}
    assert habits(streams(CORRECTED, documents=REPEATED - 1), texts()) == {}
    assert habits({1: [CORRECTED] * 9}, texts()) == {}  # one document is no habit
    assert habits(streams(CORRECTED, Event("undo")), texts()) == {}
    assert habits(streams(Event("accept", "D50")), texts()) == {}


def test_who_decides_both_ways_has_no_habit() -> None:
    marked = {9: [Event("mark", "D50", FERROUS)]}
    assert habits({**streams(CORRECTED), **marked}, {**texts(), 9: TEXT}) == {}
    other = {9: [Event("mark", "E11", FERROUS)]}
    assert len(habits({**streams(CORRECTED), **other}, {**texts(), 9: TEXT})) == 1


def places(habit: Habit, proposed: list[tuple[Span, str]], text: Text = TEXT, review: Review | None = None) -> Any:
    reviews = {} if review is None else {7: review}
    found = suggested({habit: 3}, [(7, {"D50": proposed})], {7: text}, reviews)
    return [(one.span, one.into) for each in found for one in each.places]


def test_it_is_offered_where_the_model_names_the_words() -> None:
    corrected = Habit("correct", "D50", "ferrous", "ferrous sulfate", 0)
    assert places(corrected, [(FERROUS, "ferrous")]) == [(FERROUS, PHRASE)]
    assert places(corrected, [(FERROUS, "ferrous")], Text("she takes ferrous gluconate")) == []
    assert places(corrected, [(DAILY, "daily")]) == []
    assert places(Habit("unmark", "D50", "daily"), [(DAILY, "daily"), (FERROUS, "ferrous")]) == [(DAILY, None)]
    assert places(Habit("unmark", "E11", "daily"), [(DAILY, "daily")]) == []
    shifted = Habit("correct", "D50", "sulfate", "ferrous sulfate", -8)
    assert places(shifted, [(Span(0, 18, 25), "sulfate")]) == [(Span(0, 18, 25), PHRASE)]
    assert places(shifted, [(Span(0, 0, 7), "sulfate")], Text("sulfate")) == []  # it would start before the text


@pytest.mark.parametrize(
    "named",
    [(FERROUS, "ferrous"), (Span(0, 18, 25), "sulfate"), (PHRASE, "ferrous sulfate"), (Span(0, 4, 31), TEXT.text[4:])],
)
def test_a_phrase_is_offered_where_the_model_names_a_part_of_it_or_more(named: tuple[Span, str]) -> None:
    assert places(Habit("mark", "D50", "ferrous sulfate"), [named]) == [(PHRASE, None)]


def test_a_phrase_is_offered_once() -> None:
    both = [(FERROUS, "ferrous"), (Span(0, 18, 25), "sulfate")]
    assert places(Habit("mark", "D50", "ferrous sulfate"), both) == [(PHRASE, None)]
    assert places(Habit("mark", "D50", "a"), [(Span(0, 0, 3), "a a")], Text("a a")) == [
        (Span(0, 0, 1), None),
        (Span(0, 2, 3), None),
    ]


def test_what_the_reviewer_has_decided_is_left_alone() -> None:
    habit, named = Habit("correct", "D50", "ferrous", "ferrous sulfate", 0), [(FERROUS, "ferrous")]
    for review in (
        Review(done=True),
        Review(decisions={"D50": "rejected"}),
        Review(marked={"D50": (PHRASE,)}),
        Review(refused={"D50": (FERROUS,)}),
    ):
        assert places(habit, named, review=review) == []
    assert places(habit, named, review=Review(refused={"D50": (DAILY,)}, version=4)) == [(FERROUS, PHRASE)]
    (found,) = suggested({habit: 3}, [(7, {"D50": named})], {7: TEXT}, {7: Review(version=4)})
    assert found.places == (Place(7, FERROUS, PHRASE, 4),)


SAME = tuple(f"note {i}: fever curve" for i in range(6))


@pytest.fixture
def own(database: str) -> Bench:
    return workbench_app.bench(database, texts=SAME)


@pytest.fixture
def client(own: Bench) -> Iterator[Any]:
    with workbench_app.client(own) as found:
        yield found


def test_following_a_suggestion_is_an_ordinary_event_that_can_be_undone(client: Any, own: Bench) -> None:
    workbench_app.waited(own)
    ada, bob = Browser(client), Browser(client, "Bob")
    for number in (1, 2, 3):
        assert ada.get("/api/suggestions").json() == []
        text = SAME[number - 1]
        answer = ada.act(number, "correct", label="fever", span=span(text, "fever"), into=span(text, "fever curve"))
        assert answer.status_code == 201
    (found,) = ada.get("/api/suggestions").json()
    assert (found["wording"], found["into"], found["times"], found["places"]) == ("fever", "fever curve", 3, 3)
    assert bob.get("/api/suggestions").json() == []  # habits are one's own
    page = ada.get("/suggestions", headers={"accept": "text/html"}).text
    assert "<q>fever</q> to <q>fever curve</q>" in page
    assert page.count("data-document=") == 3
    assert ada.get("/api/documents/4").json()["review"]["version"] == 0  # nothing is done unasked
    suggestions, _ = own.suggestions("Ada")
    place = suggestions[0].places[0]
    text = SAME[place.document - 1]
    done = ada.act(place.document, "correct", label="fever", span=span(text, "fever"), into=span(text, "fever curve"))
    assert done.json()["marked"] == {"fever": [[0, 8, 19]]}
    assert ada.get("/api/suggestions").json()[0]["places"] == 2
    assert ada.act(place.document, "undo").json()["marked"] == {}
    assert ada.get("/api/suggestions").json()[0]["places"] == 3
