"""What Alembic runs: the connection is the one that the workbench has opened."""

from alembic import context

from whylight.workbench.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
