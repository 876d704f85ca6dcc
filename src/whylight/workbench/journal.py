"""The journal: documents, and the events of their streams, which are only ever added.

A stream is what one reviewer did with one document (`review:NAME`), or its adjudication, which all share. Whoever adds
says which version it was looking at. If somebody added in between, nothing is written, and the answer is the new state.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, RowMapping, func, insert, select
from sqlalchemy.exc import IntegrityError

from whylight.core.errors import InputError
from whylight.core.identity import digest
from whylight.core.printable import one_line
from whylight.core.segment import words
from whylight.core.text import Span, Text, text_of
from whylight.data.dataset import Dataset
from whylight.workbench.reviewing import Event
from whylight.workbench.tables import DOCUMENTS, EVENTS

ADJUDICATION = "adjudication"
AT_ONCE = 500
"""Documents that one query names."""
SOME = 100
"""Documents that are read at once."""
OPENING = 120
"""Characters of a document that lists show."""


class Conflict(Exception):  # noqa: N818  it is an answer, not a failure
    """Somebody else added to the stream first."""


@dataclass(frozen=True, slots=True)
class Document:
    """One text to review.

    Attributes:
        id: Its number.
        name: What the data call it.
        text: The text, or pair.
        labels: Gold labels, where the data have them.
    """

    id: int
    name: str
    text: Text
    labels: tuple[str, ...]


def stream_of(reviewer: str) -> str:
    """Return the stream of a reviewer."""
    return f"review:{reviewer}"


class Journal:
    """Documents and events in a database.

    Args:
        engine: The database.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def take_in(self, data: Dataset) -> int:
        """Add the documents of a data set that are not there yet; return how many these were.

        Raises:
            InputError: A document of that name is another text.
        """
        data.require_texts("a review")
        with self.engine.begin() as connection:
            known = {
                bytes(row.name): row.digest for row in connection.execute(select(DOCUMENTS.c.name, DOCUMENTS.c.digest))
            }
            rows = [_row(record.id, text_of(record.example), record.labels) for record in data]
            for row in rows:
                if known.get(row["name"], row["digest"]) != row["digest"]:
                    raise InputError(
                        f"the database has another text under the name '{one_line(text_of_bytes(row['name']))}'; "
                        "take another database for other data."
                    )
            new = [row for row in rows if row["name"] not in known]
            if new:
                connection.execute(insert(DOCUMENTS), new)
        return len(new)

    def document(self, number: int) -> Document | None:
        """Return a document by its number."""
        return self.some([number]).get(number)

    def some(self, numbers: Iterable[int]) -> dict[int, Document]:
        """Return documents by their numbers; those that do not exist are missing."""
        wanted, found = list(numbers), dict[int, Document]()
        with self.engine.connect() as connection:
            for start in range(0, len(wanted), AT_ONCE):
                chosen = select(DOCUMENTS).where(DOCUMENTS.c.id.in_(wanted[start : start + AT_ONCE]))
                found |= {row["id"]: _document(row) for row in connection.execute(chosen).mappings()}
        return found

    def documents(self) -> Iterable[Document]:
        """Return all documents, some at a time: nothing is held open while somebody works on one for long."""
        last: int | None = 0
        while last is not None:
            chosen = select(DOCUMENTS).where(DOCUMENTS.c.id > last).order_by(DOCUMENTS.c.id).limit(SOME)
            with self.engine.connect() as connection:
                rows = connection.execute(chosen).mappings().all()
            yield from map(_document, rows)
            last = rows[-1]["id"] if rows else None

    def count(self) -> int:
        """Return how many documents there are."""
        with self.engine.connect() as connection:
            return int(connection.scalar(select(func.count()).select_from(DOCUMENTS)) or 0)

    def events(self, number: int, stream: str) -> list[Event]:
        """Return the events of a stream, oldest first."""
        chosen = select(EVENTS).where(EVENTS.c.document == number, EVENTS.c.stream == stream)
        with self.engine.connect() as connection:
            return _events(connection.execute(chosen.order_by(EVENTS.c.version)).mappings().all())

    def work(self, stream: str) -> dict[int, list[Event]]:
        """Return the events of a stream in all documents."""
        chosen = select(EVENTS).where(EVENTS.c.stream == stream).order_by(EVENTS.c.document, EVENTS.c.version)
        with self.engine.connect() as connection:
            rows = connection.execute(chosen).mappings().all()
        return {int(number): _events(list(own)) for number, own in groupby(rows, key=lambda row: row["document"])}

    def streams(self, number: int) -> dict[str, list[Event]]:
        """Return the events of all streams of a document."""
        return next((own for _, own in self._streams(EVENTS.c.document == number)), {})

    def finished(self) -> Iterator[tuple[int, dict[str, list[Event]]]]:
        """Yield the documents that somebody finished at some time, with the events of all their streams."""
        done = select(EVENTS.c.document).where(EVENTS.c.kind == "done")
        return self._streams(EVENTS.c.document.in_(done))

    def _streams(self, which: ColumnElement[bool]) -> Iterator[tuple[int, dict[str, list[Event]]]]:
        chosen = select(EVENTS).where(which).order_by(EVENTS.c.document, EVENTS.c.stream, EVENTS.c.version)
        with self.engine.connect() as connection:
            rows = connection.execute(chosen.execution_options(yield_per=1000)).mappings()
            for number, own in groupby(rows, key=lambda row: int(row["document"])):
                yield number, {name: _events(list(each)) for name, each in groupby(own, key=_stream)}

    def history(self, number: int | None = None, *, before: int | None = None, most: int = 100) -> list[dict[str, Any]]:
        """Return what was done last, newest first, as plain values.

        Args:
            number: Of one document alone.
            before: Of events before this one.
            most: How many at the most.
        """
        chosen = select(EVENTS, DOCUMENTS.c.name).join(DOCUMENTS).order_by(EVENTS.c.id.desc()).limit(most)
        chosen = chosen if number is None else chosen.where(EVENTS.c.document == number)
        chosen = chosen if before is None else chosen.where(EVENTS.c.id < before)
        with self.engine.connect() as connection:
            rows = connection.execute(chosen).mappings().all()
        return [
            {
                **event_json(event),
                "id": row["id"],
                "document": row["document"],
                "name": text_of_bytes(row["name"]),
                "stream": row["stream"],
                "under": json.loads(row["payload"]).get("under"),
            }
            for row, event in zip(rows, _events(rows), strict=True)
        ]

    def add(
        self,
        number: int,
        stream: str,
        event: Event,
        *,
        reviewer: str,
        seen: int,
        under: Mapping[str, Any] | None = None,
    ) -> Event:
        """Add an event to a stream.

        Args:
            number: The document.
            stream: The stream.
            event: What was done.
            reviewer: By whom.
            seen: How many events the stream had when it was looked at.
            under: Which model was on the desk, as plain values.

        Raises:
            Conflict: It has more by now.
        """
        row = _event_row(number, stream, event, reviewer=reviewer, version=seen + 1, under=under)
        try:
            with self.engine.begin() as connection:
                _add(connection, row)
        except IntegrityError:
            raise Conflict from None
        return replace(event, reviewer=reviewer, at=row["at"], version=seen + 1)


def _add(connection: Connection, row: Mapping[str, Any]) -> None:
    own = EVENTS.c.document == row["document"], EVENTS.c.stream == row["stream"]
    if (connection.scalar(select(func.max(EVENTS.c.version)).where(*own)) or 0) + 1 != row["version"]:
        raise Conflict
    connection.execute(insert(EVENTS).values(row))


def _event_row(
    number: int, stream: str, event: Event, *, reviewer: str, version: int, under: Mapping[str, Any] | None
) -> dict[str, Any]:
    told = {"span": _span(event.span), "into": _span(event.into), "note": event.note}
    return {
        "document": number,
        "stream": stream,
        "version": version,
        "reviewer": reviewer,
        "kind": event.kind,
        "label": None if event.label is None else _bytes(event.label),
        "payload": json.dumps(told if under is None else {**told, "under": dict(under)}),
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }


def event_json(event: Event) -> dict[str, Any]:
    """Return an event as plain values."""
    return {
        "kind": event.kind,
        "label": event.label,
        "span": _span(event.span),
        "into": _span(event.into),
        "note": event.note,
        "reviewer": event.reviewer,
        "at": event.at,
        "version": event.version,
    }


def _events(rows: Sequence[RowMapping]) -> list[Event]:
    """Read events; their payloads at once, since a stream may have thousands."""
    payloads = json.loads(f"[{','.join(row['payload'] for row in rows)}]")
    return [_event(row, told) for row, told in zip(rows, payloads, strict=True)]


def _event(row: RowMapping, told: Mapping[str, Any]) -> Event:
    label = None if row["label"] is None else text_of_bytes(bytes(row["label"]))
    span, into = (None if told[name] is None else Span(*told[name]) for name in ("span", "into"))
    return Event(row["kind"], label, span, into, told["note"], row["reviewer"], row["at"], row["version"])


def _stream(row: RowMapping) -> str:
    return str(row["stream"])


def _span(span: Span | None) -> list[int] | None:
    return None if span is None else [span.part, span.start, span.end]


def _row(name: str, text: Text, labels: Sequence[str]) -> dict[str, Any]:
    content = text.to_json()
    return {
        "name": _bytes(name),
        "digest": digest([content]),
        "content": json.dumps(content).encode("ascii"),
        "opening": _opening(text.text),
        "words": sum(len(words(part)) for part in text.parts),
        "gold": json.dumps(list(labels)),
    }


def _opening(text: str) -> str:
    """Return the first words of a text."""
    start = one_line(text[: 2 * OPENING])
    return start if len(start) <= OPENING else f"{start[:OPENING].rpartition(' ')[0] or start[:OPENING]} …"


def _document(row: RowMapping) -> Document:
    content = json.loads(bytes(row["content"]))
    return Document(
        row["id"], text_of_bytes(bytes(row["name"])), Text.from_json(content), tuple(json.loads(row["gold"]))
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def text_of_bytes(content: bytes) -> str:
    """Return the text that bytes were made of."""
    return bytes(content).decode("utf-8", "surrogatepass")
