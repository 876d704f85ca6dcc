"""The database: events are only added, versions are taken once, texts come back as they were."""

import threading
from pathlib import Path

import pytest
from sqlalchemy import create_engine, delete, insert, select, text, update
from sqlalchemy.exc import DBAPIError

import whylight.workbench.journal
import workbench_app
from whylight.core.errors import WhylightError
from whylight.core.text import Span, Text
from whylight.data.dataset import Dataset, Record
from whylight.workbench.database import MIGRATIONS, kept_setting, open_database, signing_key
from whylight.workbench.findings import Findings
from whylight.workbench.journal import Conflict, Journal
from whylight.workbench.reviewing import Event
from whylight.workbench.tables import DOCUMENTS, EVENTS, METADATA

HOSTILE = ("\0", "\ud800", "a\r\nb\rc", "e\u0301", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "", "' ; DROP TABLE event")


@pytest.fixture
def journal(database: str) -> Journal:
    found = Journal(open_database(database))
    found.take_in(workbench_app.documents())
    return found


def test_texts_and_names_come_back_as_they_were(database: str) -> None:
    own = Journal(open_database(database))
    data = Dataset("x", "test", (), tuple(Record(f"{one}!", Text(one, one or None), (one,)) for one in HOSTILE))
    assert own.take_in(data) == len(HOSTILE)
    assert own.take_in(data) == 0
    found = list(own.documents())
    assert [(one.name, one.text, one.labels) for one in found] == [(r.id, r.example, r.labels) for r in data]
    other = Dataset("x", "test", (), (Record("\0!", Text("another"), ()),))
    with pytest.raises(WhylightError, match="another text under the name"):
        own.take_in(other)


def test_nothing_is_held_open_while_documents_are_read(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a job of hours would keep a database from tidying up."""
    monkeypatch.setattr(whylight.workbench.journal, "SOME", 2)
    own = Journal(open_database(database))
    assert list(own.documents()) == []
    own.take_in(workbench_app.documents())
    numbers = []
    for one in own.documents():
        numbers.append(one.id)
        assert own.engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    assert numbers == [1, 2, 3, 4]


def test_events_come_back_as_they_were(journal: Journal) -> None:
    told = Event("correct", "\0\ud800", Span(0, 1, 2), Span(0, 3, 4))
    journal.add(1, "review:A", told, reviewer="A", seen=0)
    journal.add(1, "review:A", Event("note", note="\0 \ud800 é"), reviewer="A", seen=1)
    first, second = journal.events(1, "review:A")
    assert (first.kind, first.label, first.span, first.into, first.version) == (
        "correct",
        "\0\ud800",
        *told_spans(told),
        1,
    )
    assert second.note == "\0 \ud800 é"
    assert journal.streams(1).keys() == {"review:A"}
    assert journal.events(2, "review:A") == []


def told_spans(event: Event) -> tuple[Span | None, Span | None]:
    return event.span, event.into


def test_events_can_neither_be_changed_nor_removed(journal: Journal) -> None:
    journal.add(1, "review:A", Event("done"), reviewer="A", seen=0)
    statements = [update(EVENTS).values(reviewer="B"), delete(EVENTS)]
    statements += [text("TRUNCATE event")] if journal.engine.dialect.name == "postgresql" else []
    for statement in statements:
        with pytest.raises(DBAPIError, match="only added"), journal.engine.begin() as connection:
            connection.execute(statement)
    assert journal.events(1, "review:A")[0].reviewer == "A"


def test_of_many_who_add_to_the_same_state_one_is_taken(journal: Journal) -> None:
    taken, refused = [], []
    start = threading.Barrier(8)

    def add(number: int) -> None:
        start.wait()
        try:
            journal.add(1, "adjudication", Event("accept", str(number)), reviewer=str(number), seen=0)
            taken.append(number)
        except Conflict:
            refused.append(number)

    threads = [threading.Thread(target=add, args=(i,)) for i in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert (len(taken), len(refused)) == (1, 7)
    (kept,) = journal.events(1, "adjudication")
    assert kept.label == str(taken[0])


def test_the_tables_are_what_migrations_make(journal: Journal) -> None:
    from alembic.autogenerate import compare_metadata  # noqa: PLC0415
    from alembic.migration import MigrationContext  # noqa: PLC0415

    with journal.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
        if connection.dialect.name == "sqlite":
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_a_database_of_the_first_form_is_brought_up_to_date(database: str) -> None:
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    engine = create_engine(database)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO setting (name, value) VALUES ('a', 'b')"))
        connection.execute(
            insert(DOCUMENTS).values(name=b"x", digest="", content=b'{"text": "a"}', opening="", words=1, gold="[]")
        )
        connection.execute(text("INSERT INTO standing (document, model, labels) VALUES (1, 'm', '[]')"))
    engine.dispose()
    opened = open_database(database)
    assert kept_setting(opened, "a", "c") == "b"
    assert Findings(opened, "m").placed() == set()  # what it lacks is made again


def test_every_database_has_a_key_of_its_own(tmp_path: Path) -> None:
    engines = [open_database(f"sqlite:///{tmp_path / name}.db") for name in "ab"]
    keys = [signing_key(one) for one in engines]
    assert keys[0] != keys[1]
    assert [signing_key(one) for one in engines] == keys
    assert all(len(one) == 32 for one in keys)
    with engines[0].connect() as connection:
        assert connection.execute(select(EVENTS)).all() == []


@pytest.mark.parametrize("url", ["review.db", "mysql://x/y", "sqlite:////no/such/folder/x.db", ""])
def test_a_database_that_cannot_be_opened_is_refused_in_a_sentence(url: str) -> None:
    with pytest.raises(WhylightError):
        open_database(url)
