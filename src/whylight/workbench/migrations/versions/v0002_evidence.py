"""Standings keep what the first method names, so that wordings are found without the model; streams get an index.

PostgreSQL empties tables by a statement of its own, which triggers of rows do not see: it is refused, too.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column, the index and the trigger; standings without evidence are made again."""
    op.add_column("standing", sa.Column("evidence", sa.Text))
    op.create_index("ix_event_stream", "event", ["stream", "document", "version"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE TRIGGER event_is_not_emptied BEFORE TRUNCATE ON event "
            "FOR EACH STATEMENT EXECUTE FUNCTION events_are_only_added()"
        )
