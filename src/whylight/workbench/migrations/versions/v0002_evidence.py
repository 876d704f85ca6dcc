"""Standings keep what the first method names, so that wordings can be looked for without the model."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column; standings without it are made again."""
    op.add_column("standing", sa.Column("evidence", sa.Text))
