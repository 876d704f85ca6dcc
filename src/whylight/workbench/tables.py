"""What the workbench keeps: documents, events, findings and its own settings, in SQLite or PostgreSQL.

Texts are kept as bytes (UTF-8, surrogates passed through), because a database may refuse characters that a text may
hold, and offsets must stay right. Events are only added: triggers of the database refuse to change or remove one. A
stream is one reviewer's work on one document, or the adjudication of it; events of a stream are numbered, and a number
is taken once, so that of two who add to the same state one is told.
"""

from sqlalchemy import (
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

METADATA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(column_0_label)s",
    }
)
DOCUMENTS = Table(
    "document",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", LargeBinary, nullable=False, unique=True),  # the record's own
    Column("digest", String(64), nullable=False),  # of the text
    Column("content", LargeBinary, nullable=False),  # of what is reviewed, as JSON
    Column("opening", String, nullable=False),  # the first words, for lists
    Column("words", Integer, nullable=False),
    Column("gold", Text, nullable=False),  # labels of the record, as JSON
)
EVENTS = Table(
    "event",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("document", Integer, ForeignKey("document.id"), nullable=False),
    Column("stream", String, nullable=False),
    Column("version", Integer, nullable=False),
    Column("reviewer", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("label", LargeBinary),  # as bytes: names of labels are whatever a model says
    Column("payload", Text, nullable=False),  # spans, notes and what model was on the desk, as JSON in ASCII
    Column("at", String, nullable=False),  # UTC, ISO 8601
    UniqueConstraint("document", "stream", "version"),
)
FINDINGS = Table(
    "finding",
    METADATA,
    Column("key", String(64), primary_key=True),  # of model, question and text
    Column("document", Integer, ForeignKey("document.id")),
    Column("payload", LargeBinary, nullable=False),  # JSON, packed
)
STANDINGS = Table(
    "standing",
    METADATA,
    Column("document", Integer, ForeignKey("document.id"), primary_key=True),
    Column("model", String(64), nullable=False),
    Column("labels", Text, nullable=False),  # what is predicted, with probabilities, as JSON
    Column("uncertainty", Float),
    Column("disagreement", Float),
    Column("doubt", Float),
    Column("evidence", Text),  # what the first method names for each of them, as JSON; NULL where that was not kept
)
SETTINGS = Table("setting", METADATA, Column("name", String, primary_key=True), Column("value", Text, nullable=False))
Index("ix_event_document_stream", EVENTS.c.document, EVENTS.c.stream)
Index("ix_event_stream", EVENTS.c.stream, EVENTS.c.document, EVENTS.c.version)
for _column in (STANDINGS.c.uncertainty, STANDINGS.c.disagreement, STANDINGS.c.doubt):
    Index(f"ix_standing_{_column.name}", _column)
