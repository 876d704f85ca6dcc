"""The first tables: documents, events that are only added, findings, standings, settings."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
LATER = {
    "sqlite": (
        "CREATE TRIGGER event_is_not_{past} BEFORE {what} ON event "
        "BEGIN SELECT RAISE(ABORT, 'events are only added'); END"
    ),
    "postgresql": (
        "CREATE TRIGGER event_is_not_{past} BEFORE {what} ON event "
        "FOR EACH ROW EXECUTE FUNCTION events_are_only_added()"
    ),
}
REFUSING = """
CREATE FUNCTION events_are_only_added() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN RAISE EXCEPTION 'events are only added'; END $$
"""


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "document",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.LargeBinary, nullable=False, unique=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("opening", sa.String, nullable=False),
        sa.Column("words", sa.Integer, nullable=False),
        sa.Column("gold", sa.Text, nullable=False),
    )
    op.create_table(
        "event",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("document", sa.Integer, sa.ForeignKey("document.id"), nullable=False),
        sa.Column("stream", sa.String, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("reviewer", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("label", sa.LargeBinary),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("at", sa.String, nullable=False),
        sa.UniqueConstraint("document", "stream", "version", name="uq_event_document"),
    )
    op.create_index("ix_event_document_stream", "event", ["document", "stream"])
    op.create_table(
        "finding",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("document", sa.Integer, sa.ForeignKey("document.id")),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "standing",
        sa.Column("document", sa.Integer, sa.ForeignKey("document.id"), primary_key=True),
        sa.Column("model", sa.String(64), nullable=False),
        sa.Column("labels", sa.Text, nullable=False),
        *(sa.Column(name, sa.Float) for name in ("uncertainty", "disagreement", "doubt")),
    )
    for name in ("uncertainty", "disagreement", "doubt"):
        op.create_index(f"ix_standing_{name}", "standing", [name])
    op.create_table(
        "setting", sa.Column("name", sa.String, primary_key=True), sa.Column("value", sa.Text, nullable=False)
    )
    dialect = op.get_bind().dialect.name
    if dialect == "postgresql":
        op.execute(REFUSING)
    for past, what in (("changed", "UPDATE"), ("removed", "DELETE")):
        op.execute(LATER[dialect].format(past=past, what=what))
