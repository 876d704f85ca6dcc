"""Standings keep what the first method names, so that wordings are found without the model; streams get an index."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column and the index; standings without evidence are made again."""
    op.add_column("standing", sa.Column("evidence", sa.Text))
    op.create_index("ix_event_stream", "event", ["stream", "document", "version"])
