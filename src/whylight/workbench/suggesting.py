"""What a reviewer keeps doing to a wording, and where else the model names it: suggestions, and never actions.

A habit is a kind of action (`mark`, `unmark`, `correct`), a label and a wording, found in `REPEATED` documents or more
of one reviewer, who never did the opposite. It is suggested where the model names the wording, or a part of it, for the
same label in a document that the reviewer has not finished, and has not decided about there. So a phrase that is denied
in another note is suggested only if the model itself takes it for evidence. Whoever follows a suggestion adds an
ordinary event, which is undone as any other.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from whylight.core.text import Span, Text
from whylight.workbench.reviewing import OF_SPANS, Event, Review, active, overlap

REPEATED = 3
"""Documents from which on an action is a habit."""
OPPOSITE: Mapping[str, tuple[str, ...]] = {"mark": ("unmark", "correct"), "unmark": ("mark",), "correct": ("mark",)}
Proposed = Mapping[str, Sequence[tuple[Span, str]]]
"""What the model names in a document, by label, with the words that stand there."""


@dataclass(frozen=True, slots=True)
class Habit:
    """What is done to a wording.

    Attributes:
        kind: The action.
        label: The label that it is about.
        wording: The words that it is done to.
        into: What a `correct` makes of them.
        shift: How many characters later that starts.
    """

    kind: str
    label: str
    wording: str
    into: str | None = None
    shift: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a habit could be followed.

    Attributes:
        document: The document.
        span: The stretch of the action.
        into: What a `correct` makes of it.
        version: How many events the reviewer's stream has there.
    """

    document: int
    span: Span
    into: Span | None
    version: int


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A habit, and where it could be followed.

    Attributes:
        habit: The habit.
        times: In how many documents the reviewer did so.
        places: Where else.
    """

    habit: Habit
    times: int
    places: tuple[Place, ...]


def habits(streams: Mapping[int, Sequence[Event]], texts: Mapping[int, Text]) -> dict[Habit, int]:
    """Return what a reviewer did to the same wording again and again, with the number of documents.

    Args:
        streams: The reviewer's events, by document.
        texts: The texts of these documents.
    """
    found: dict[Habit, set[int]] = defaultdict(set)
    for number, events in streams.items():
        for one in active(events):
            if one.kind in OF_SPANS and one.span is not None:
                found[_habit(one, one.span, texts[number])].add(number)
    done = {(one.kind, one.label, one.wording) for one in found}
    return {
        one: len(where)
        for one, where in found.items()
        if len(where) >= REPEATED and not any((kind, one.label, one.wording) in done for kind in OPPOSITE[one.kind])
    }


def suggested(
    known: Mapping[Habit, int],
    proposed: Iterable[tuple[int, Proposed]],
    texts: Mapping[int, Text],
    reviews: Mapping[int, Review],
) -> list[Suggestion]:
    """Return where habits could be followed, the most frequent first.

    Args:
        known: Habits, with how often they were seen.
        proposed: What the model names, by document.
        texts: The texts of the documents.
        reviews: What the reviewer made of them; those that are missing were not begun.
    """
    places: dict[Habit, list[Place]] = {one: [] for one in known}
    for number, own in proposed:
        review = reviews.get(number, Review())
        if review.done:
            continue
        for habit, found in places.items():
            if review.decisions.get(habit.label) != "rejected":
                free = [pair for pair in own.get(habit.label, ()) if _is_free(pair[0], habit.label, review)]
                found += [
                    Place(number, span, into, review.version) for span, into in _followed(habit, free, texts[number])
                ]
    every = [Suggestion(one, known[one], tuple(found)) for one, found in places.items() if found]
    return sorted(every, key=lambda one: (-one.times, -len(one.places)))


def about(known: Iterable[Habit], own: Proposed) -> bool:
    """Say whether a habit may be followed in a document: whether it is worth reading."""
    return any(_related(habit, words) for habit in known for _, words in own.get(habit.label, ()))


def _habit(event: Event, span: Span, text: Text) -> Habit:
    into, shift = (None, 0) if event.into is None else (text.show(event.into), event.into.start - span.start)
    return Habit(event.kind, event.label or "", text.show(span), into, shift)


def _related(habit: Habit, words: str) -> bool:
    """Say whether a model's words are the wording, or for marks a part of it or it a part of them."""
    if habit.kind == "mark":
        return words in habit.wording or habit.wording in words
    return words == habit.wording


def _is_free(span: Span, label: str, review: Review) -> bool:
    """Say whether the reviewer has decided nothing about a stretch."""
    decided = (*review.marked.get(label, ()), *review.refused.get(label, ()))
    return not any(overlap(span, one) for one in decided)


def _followed(habit: Habit, free: Sequence[tuple[Span, str]], text: Text) -> Iterator[tuple[Span, Span | None]]:
    """Yield the stretches that an action would be about."""
    seen: set[Span] = set()
    for span, words in free:
        if not _related(habit, words):
            continue
        if habit.kind == "mark":
            for one in _around(habit.wording, span, words, text):
                if one not in seen:
                    seen.add(one)
                    yield one, None
        elif habit.into is None:
            yield span, None
        elif (into := _standing(habit.into, span.part, span.start + habit.shift, text)) is not None:
            yield span, into


def _around(wording: str, span: Span, words: str, text: Text) -> Iterator[Span]:
    """Yield where a wording stands that holds the model's words, or that they hold."""
    inner, outer, sign = (words, wording, -1) if words in wording else (wording, words, 1)
    at = outer.find(inner)
    while at >= 0:
        found = _standing(wording, span.part, span.start + sign * at, text)
        if found is not None:
            yield found
        at = outer.find(inner, at + 1)


def _standing(words: str, part: int, start: int, text: Text) -> Span | None:
    """Return the stretch from a place on if these words stand there."""
    own = text.parts[part]
    return Span(part, start, start + len(words)) if start >= 0 and own.startswith(words, start) else None
