"""The queue: which documents to look at first, a page at a time.

Sorting and filtering are the database's, over columns that are named here: nothing that a browser sends becomes SQL. A
document is done for a reviewer if the last of `done` and `reopen` in that stream is `done`.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import ColumnElement, Engine, Join, Select, String, and_, distinct, func, or_, select, true
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from whylight.core.errors import SettingError, unknown
from whylight.workbench.journal import stream_of, text_of_bytes
from whylight.workbench.reviewing import STANDING
from whylight.workbench.tables import DOCUMENTS, EVENTS, STANDINGS

PAGE = 50
SORTS: Mapping[str, ColumnElement[Any]] = {
    "uncertainty": STANDINGS.c.uncertainty.desc().nulls_last(),
    "doubt": STANDINGS.c.doubt.desc().nulls_last(),
    "disagreement": STANDINGS.c.disagreement.desc().nulls_last(),
    "order": DOCUMENTS.c.id.asc(),
    "length": DOCUMENTS.c.words.desc(),
}
SHOWN = ("open", "done", "all")
LAST = 1_000_000
"""Pages that can be asked for."""
MOST_FOUND = 200
"""Characters of a search."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What part of the queue is asked for.

    Attributes:
        sort: One of `SORTS`.
        show: One of `SHOWN`.
        find: Words of the opening, the label or the name.
        page: From 1 on.
    """

    sort: str = "uncertainty"
    show: str = "open"
    find: str = ""
    page: int = 1

    def __post_init__(self) -> None:
        if self.sort not in SORTS:
            raise unknown("order of the queue", self.sort, SORTS)
        if self.show not in SHOWN:
            raise unknown("part of the queue", self.show, SHOWN)
        if not 1 <= self.page <= LAST or len(self.find) > MOST_FOUND:
            raise SettingError(f"pages go from 1 to {LAST:,}, and a search has at most {MOST_FOUND} characters.")

    def query(self, **changed: object) -> str:
        """Return it as the query of an address, from the first page on unless another one is named."""
        given = {**asdict(self), "page": 1, **changed}
        told = urlencode({name: one for name, one in given.items() if one != getattr(USUAL, name)}, errors="replace")
        return f"?{told}" if told else ""


USUAL = Asked()


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the queue."""

    id: int
    name: str
    opening: str
    words: int
    labels: tuple[tuple[str, float], ...] | None
    uncertainty: float | None
    disagreement: float | None
    doubt: float | None
    done: bool
    reviewers: int


@dataclass(frozen=True, slots=True)
class QueuePage:
    """A page of the queue, with how far the reviewer is."""

    entries: tuple[Entry, ...]
    matching: int
    total: int
    done: int

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return max(1, -(-self.matching // PAGE))


def queue_page(engine: Engine, asked: Asked, reviewer: str, *, model: str) -> QueuePage:
    """Return a page of the queue.

    Args:
        engine: The database.
        asked: Which part of it.
        reviewer: For whom.
        model: A hash of the model that standings are of.
    """
    finished = _finished(reviewer)
    chosen = select(
        DOCUMENTS.c.id,
        DOCUMENTS.c.name,
        DOCUMENTS.c.opening,
        DOCUMENTS.c.words,
        STANDINGS.c.labels,
        STANDINGS.c.uncertainty,
        STANDINGS.c.disagreement,
        STANDINGS.c.doubt,
        DOCUMENTS.c.id.in_(finished).label("done"),
    ).select_from(_standing(model))
    for condition in _conditions(asked, finished):
        chosen = chosen.where(condition)
    with engine.connect() as connection:
        matching = connection.scalar(select(func.count()).select_from(chosen.subquery())) or 0
        ordered = chosen.order_by(SORTS[asked.sort], DOCUMENTS.c.id).limit(PAGE).offset((asked.page - 1) * PAGE)
        rows = connection.execute(ordered).mappings().all()
        total = connection.scalar(select(func.count()).select_from(DOCUMENTS)) or 0
        done = connection.scalar(select(func.count()).select_from(finished.subquery())) or 0
        counted = (
            select(EVENTS.c.document, func.count(distinct(EVENTS.c.reviewer)))
            .where(EVENTS.c.document.in_([row["id"] for row in rows]))
            .group_by(EVENTS.c.document)
        )
        people = {number: count for number, count in connection.execute(counted).all()}  # noqa: C416  rows are no pairs
    return QueuePage(tuple(_entry(dict(row), people.get(row["id"], 0)) for row in rows), matching, total, done)


def neighbours(engine: Engine, number: int, asked: Asked, reviewer: str, *, model: str) -> dict[str, int | None]:
    """Return what comes before and after a document in the part of the queue that is asked for."""
    order = [SORTS[asked.sort], DOCUMENTS.c.id]
    places = (
        select(
            DOCUMENTS.c.id,
            func.lag(DOCUMENTS.c.id).over(order_by=order).label("previous"),
            func.lead(DOCUMENTS.c.id).over(order_by=order).label("next"),
        )
        .select_from(_standing(model))
        .where(or_(DOCUMENTS.c.id == number, and_(true(), *_conditions(asked, _finished(reviewer)))))
        .subquery()
    )
    with engine.connect() as connection:
        found = connection.execute(select(places).where(places.c.id == number)).mappings().first()
    return {name: None if found is None else found[name] for name in ("next", "previous")}


def _standing(model: str) -> Join:
    """Join documents with where they stand, by a model."""
    return DOCUMENTS.outerjoin(STANDINGS, and_(STANDINGS.c.document == DOCUMENTS.c.id, STANDINGS.c.model == model))


def _finished(reviewer: str) -> Select[tuple[int]]:
    """Select the documents that a reviewer is done with."""
    last = (
        select(EVENTS.c.document, func.max(EVENTS.c.version).label("version"))
        .where(EVENTS.c.stream == stream_of(reviewer), EVENTS.c.kind.in_(STANDING))
        .group_by(EVENTS.c.document)
        .subquery()
    )
    return (
        select(EVENTS.c.document)
        .join(last, and_(EVENTS.c.document == last.c.document, EVENTS.c.version == last.c.version))
        .where(EVENTS.c.stream == stream_of(reviewer), EVENTS.c.kind == "done")
    )


def _conditions(asked: Asked, finished: Select[tuple[int]]) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if asked.show != "all":
        found.append(DOCUMENTS.c.id.in_(finished) if asked.show == "done" else DOCUMENTS.c.id.not_in(finished))
    if asked.find:
        name, kept = _Letters(DOCUMENTS.c.name), "".join(map(_escaped, asked.find.encode("utf-8", "surrogatepass")))
        found.append(
            or_(
                DOCUMENTS.c.opening.icontains(asked.find, autoescape=True),
                STANDINGS.c.labels.icontains(json.dumps(asked.find)[1:-1], autoescape=True),
                name.icontains(asked.find, autoescape=True),
                name.icontains(kept, autoescape=True),
            )
        )
    return found


class _Letters(FunctionElement[str]):
    """Bytes as letters; PostgreSQL writes those beyond ASCII as escapes, and so never meets one that is none."""

    type = String()
    inherit_cache = True


@compiles(_Letters, "sqlite")
def _in_sqlite(element: _Letters, compiler: Any, **given: Any) -> str:  # noqa: ANN401  as the library has it
    return f"CAST({compiler.process(element.clauses, **given)} AS TEXT)"


@compiles(_Letters, "postgresql")
def _in_postgresql(element: _Letters, compiler: Any, **given: Any) -> str:  # noqa: ANN401
    return f"encode({compiler.process(element.clauses, **given)}, 'escape')"


def _escaped(byte: int) -> str:
    """Return a byte as PostgreSQL escapes it."""
    return "\\\\" if byte == ord("\\") else chr(byte) if 0 < byte < 128 else f"\\{byte:03o}"  # noqa: PLR2004  ASCII


def _entry(row: Mapping[str, Any], reviewers: int) -> Entry:
    labels = None if row["labels"] is None else tuple((name, value) for name, value in json.loads(row["labels"]))
    return Entry(
        row["id"],
        text_of_bytes(row["name"]),
        row["opening"],
        row["words"],
        labels,
        row["uncertainty"],
        row["disagreement"],
        row["doubt"],
        bool(row["done"]),
        reviewers,
    )
