"""What a reviewer has decided about a document: a pure function of the events of one stream.

    state = decisions on labels, marked and refused evidence by label, a note, and whether the review is done

Events are only ever added. `undo` takes back the last action that still counts, `redo` brings back the last that was
taken back, as long as no other action came in between. `done` and `reopen` are no actions: they say where the review
stands, and are not undone. A span is a part, a start and an end in code points, with the text that stands there, which
is checked when the event is made: so a state can be read without the model, and without what it proposed.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from whylight.core.errors import InputError, unknown
from whylight.core.text import Span

Kind = Literal[
    "accept", "reject", "add", "clear", "mark", "unmark", "correct", "note", "undo", "redo", "done", "reopen"
]
DECISIONS: Mapping[str, str] = {"accept": "accepted", "reject": "rejected", "add": "added"}
"""What an action makes of a label."""
OF_LABELS = ("accept", "reject", "add", "clear", "mark", "unmark", "correct")
OF_SPANS = ("mark", "unmark", "correct")
STANDING = ("done", "reopen")
KINDS: tuple[str, ...] = (*OF_LABELS, "note", "undo", "redo", *STANDING)
LONGEST_NOTE = 10_000


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that somebody did.

    Attributes:
        kind: What.
        label: The label that it is about, if any.
        span: The stretch of text that it is about, if any.
        into: What a `correct` makes of that stretch.
        note: What was written.
        reviewer: Who did it.
        at: When, in UTC.
        version: Its number in its stream, from 1 on.
    """

    kind: str
    label: str | None = None
    span: Span | None = None
    into: Span | None = None
    note: str | None = None
    reviewer: str = ""
    at: str = ""
    version: int = 0


@dataclass(frozen=True, slots=True)
class Review:
    """What events come to.

    Attributes:
        decisions: `accepted`, `rejected` or `added`, by label; those that nobody decided are absent.
        marked: Evidence of each label, in reading order.
        refused: What is not evidence of it, in reading order.
        note: What was written last.
        done: Whether the review is finished.
        version: How many events there are.
        undoable: Whether there is an action to take back.
        redoable: Whether there is one to bring back.
    """

    decisions: Mapping[str, str] = field(default_factory=dict)
    marked: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    refused: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    note: str = ""
    done: bool = False
    version: int = 0
    undoable: bool = False
    redoable: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that apply, by this review."""
        return tuple(label for label in self.decisions if self.applies(label))

    def applies(self, label: str) -> bool:
        """Say whether a label applies, by this review; one that is undecided does not."""
        return self.decisions.get(label, "rejected") != "rejected"

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        spans = {
            name: {label: [_numbers(one) for one in own] for label, own in getattr(self, name).items()}
            for name in ("marked", "refused")
        }
        return {
            "decisions": dict(self.decisions),
            **spans,
            "note": self.note,
            "done": self.done,
            "version": self.version,
            "undoable": self.undoable,
            "redoable": self.redoable,
        }


def review_of(events: Sequence[Event]) -> Review:
    """Return what the events of one stream, oldest first, come to."""
    counting, taken_back = _counting(events)
    decisions: dict[str, str] = {}
    marked: dict[str, list[Span]] = {}
    refused: dict[str, set[Span]] = {}
    note = ""
    for one in counting:
        label = one.label or ""
        if one.kind in DECISIONS:
            decisions.pop(label, None)  # the last decision is the last of the list
            decisions[label] = DECISIONS[one.kind]
        elif one.kind == "clear":
            for kept in (decisions, marked, refused):
                kept.pop(label, None)
        elif one.kind == "note":
            note = one.note or ""
        else:
            _change_marks(one, marked.setdefault(label, []), refused.setdefault(label, set()))
    standing = [one.kind for one in events if one.kind in STANDING]
    return Review(
        decisions=decisions,
        marked={label: tuple(own) for label, own in marked.items() if own},
        refused={label: tuple(sorted(own)) for label, own in refused.items() if own},
        note=note,
        done=bool(standing) and standing[-1] == "done",
        version=len(events),
        undoable=bool(counting),
        redoable=bool(taken_back),
    )


def active(events: Iterable[Event]) -> list[Event]:
    """Return the actions that count: those that were not taken back."""
    return _counting(events)[0]


def _counting(events: Iterable[Event]) -> tuple[list[Event], list[Event]]:
    """Return the actions that count, and those that were taken back and may come again, the next one last."""
    counting: list[Event] = []
    taken_back: list[Event] = []
    for one in events:
        if one.kind == "undo":
            taken_back += [counting.pop()] if counting else []
        elif one.kind == "redo":
            counting += [taken_back.pop()] if taken_back else []
        elif one.kind not in STANDING:
            counting.append(one)
            taken_back.clear()
    return counting, taken_back


def _change_marks(event: Event, marked: list[Span], refused: set[Span]) -> None:
    """Mark or refuse a stretch; a stretch is never both, and a mark takes the place of those that it overlaps.

    Marks are in reading order and do not overlap, so that those which a new one touches stand together.
    """
    if event.span is None:
        return
    if event.kind in ("unmark", "correct"):
        if event.span in marked:
            marked.remove(event.span)
        refused.add(event.span)
    new = event.into if event.kind == "correct" else event.span if event.kind == "mark" else None
    if new is not None:
        first = last = bisect_left(marked, new)
        while first > 0 and overlap(marked[first - 1], new):
            first -= 1
        while last < len(marked) and overlap(marked[last], new):
            last += 1
        marked[first:last] = [new]
        refused.discard(new)


def overlap(one: Span, other: Span) -> bool:
    """Say whether two stretches share a character."""
    return one.part == other.part and one.start < other.end and other.start < one.end


def characters(spans: Iterable[Span]) -> set[tuple[int, int]]:
    """Return the characters that stretches cover, with their parts."""
    return {(span.part, at) for span in spans for at in range(span.start, span.end)}


def checked_event(
    given: Mapping[str, Any], *, parts: Sequence[str], labels: Sequence[str], before: Sequence[Event]
) -> Event:
    """Make an event of what a browser sent, or say what is wrong with it.

    Args:
        given: `kind`, and what belongs to it.
        parts: The text of the document, and its pair if there is one.
        labels: The labels that exist.
        before: The events of the stream that it is added to.
    """
    kind, label = given.get("kind"), given.get("label")
    if kind not in KINDS:
        raise unknown("kind of event", kind, KINDS)
    if (kind in OF_LABELS) != (label is not None):
        raise InputError(f"an event '{kind}' {'needs' if kind in OF_LABELS else 'has no'} label.")
    if label is not None and label not in labels:
        raise unknown("label", label, labels)
    if kind in ("undo", "redo") and not _counting(before)[kind == "redo"]:
        raise InputError(f"there is nothing to {kind}.")
    span, into = (_checked_span(given.get(name), parts) for name in ("span", "into"))
    if (kind in OF_SPANS) != (span is not None) or (kind == "correct") != (into is not None):
        raise InputError(f"an event '{kind}' has other spans.")
    return Event(str(kind), label, span, into, _checked_note(kind, given.get("note")))


def _checked_note(kind: str, note: object) -> str | None:
    if (kind == "note") != isinstance(note, str):
        raise InputError(f"an event '{kind}' {'needs' if kind == 'note' else 'has no'} note.")
    if not isinstance(note, str):
        return None
    if len(note) > LONGEST_NOTE:
        raise InputError(f"a note has at most {LONGEST_NOTE:,} characters.")
    return note


def _checked_span(given: object, parts: Sequence[str]) -> Span | None:
    """Make a span of what a browser sent; the text that it claims to cover must stand there."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise InputError("a span is an object with part, start, end and text.")
    numbers = [given.get(name) for name in ("part", "start", "end")]
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in numbers):
        raise InputError("part, start and end of a span are whole numbers.")
    part, start, end = (int(str(one)) for one in numbers)
    if not (0 <= part < len(parts) and 0 <= start < end <= len(parts[part])):
        raise InputError("the span lies outside the text.")
    if given.get("text") != parts[part][start:end]:
        raise InputError("the text at the span is another one: offsets are code points, the end exclusive.")
    if not parts[part][start:end].strip():
        raise InputError("the span holds white space alone.")
    return Span(part, start, end)


def _numbers(span: Span) -> list[int]:
    return [span.part, span.start, span.end]
