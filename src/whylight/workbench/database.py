"""Opening a database of the workbench: SQLite by default, PostgreSQL by URL, brought to the form of this version.

SQLite writes ahead (WAL) and waits for the disk at every commit, so that what was answered is kept even if the power
goes. Each database has a key of its own that sessions are signed with.
"""

import secrets
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Engine, create_engine, event, insert, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError

from whylight.core.errors import InputError, SettingError
from whylight.core.printable import one_line
from whylight.workbench.tables import SETTINGS

DIALECTS = ("sqlite", "postgresql")
PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=10000")
KEY = "signing key"
MIGRATIONS = Path(__file__).parent / "migrations"
MOVING = 7_221_863
"""The lock of PostgreSQL under which tables are changed; any number will do."""


def open_database(url: str) -> Engine:
    """Open a database, and make or change its tables where they are not those of this version.

    Args:
        url: `sqlite:///review.db`, or `postgresql+psycopg://user@host/name`.

    Raises:
        InputError: It cannot be opened.
    """
    try:
        given = make_url(url)
    except ArgumentError:
        raise SettingError(f"'{one_line(url)}' is no URL of a database; write sqlite:///review.db.") from None
    name = given.get_backend_name()
    if name == "sqlite" and (given.database in (None, "", ":memory:") or "mode=memory" in url):
        raise SettingError("reviews in memory would be lost; name a file, as in sqlite:///review.db.")
    if name not in DIALECTS:
        raise SettingError(f"reviews are kept in SQLite or PostgreSQL, not in {one_line(name)}.")
    try:
        engine = create_engine(url, pool_pre_ping=name != "sqlite")
        if name == "sqlite":
            event.listen(engine, "connect", _set_up)
        _bring_up_to_date(engine)
    except ModuleNotFoundError as error:
        raise SettingError(
            f"PostgreSQL needs the package '{error.name}': pip install \"whylight[postgres]\"."
        ) from None
    except CommandError as error:
        raise InputError(f"the database is of a later version of whylight ({one_line(str(error))}).") from None
    except SQLAlchemyError as error:
        raise InputError(f"cannot open the database: {one_line(str(getattr(error, 'orig', error)))[:300]}.") from None
    return engine


def signing_key(engine: Engine) -> bytes:
    """Return the key that sessions of this database are signed with; the first who asks makes it."""
    return bytes.fromhex(kept_setting(engine, KEY, secrets.token_hex(32)))


def kept_setting(engine: Engine, name: str, first: str) -> str:
    """Return a setting of the database, which is kept as it was first."""
    chosen = select(SETTINGS.c.value).where(SETTINGS.c.name == name)
    with engine.connect() as connection:
        found = connection.scalar(chosen)
    if found is None:
        try:
            with engine.begin() as connection:
                connection.execute(insert(SETTINGS).values(name=name, value=first))
        except IntegrityError:  # another process was first
            pass
        with engine.connect() as connection:
            found = connection.scalar(chosen)
    return str(found)


def _set_up(connection: Any, _record: object) -> None:  # noqa: ANN401  the driver's own type
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _bring_up_to_date(engine: Engine) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            connection.execute(text("BEGIN IMMEDIATE"))  # two servers that start at once take turns
        else:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": MOVING})
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
