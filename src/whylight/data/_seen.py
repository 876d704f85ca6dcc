"""Which ids have come before, of any number of records, in the memory of a few.

Hashes of ids (128 bits) stand in a temporary database of SQLite's own: it is in memory while it is small, then in a
file without a name, and gone when it is closed. Cost: some 4 microseconds and 20 bytes per record.
"""

import sqlite3
from hashlib import blake2b
from types import TracebackType
from typing import Self

from whylight.core.errors import InputError
from whylight.data._checks import Flaw, quotable

CACHE = 8 * 2**10
"""KiB that are kept in memory."""
_SET_UP = (
    "pragma journal_mode = off",
    "pragma synchronous = off",
    f"pragma cache_size = -{CACHE}",
    "create table seen (id blob primary key) without rowid",
    "begin",
)


class Seen:
    """Ids so far."""

    def __init__(self) -> None:
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for command in _SET_UP:
            self._base.execute(command)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._base.close()

    def add(self, name: str) -> None:
        """Add the id of a record, which no other may have."""
        key = blake2b(name.encode(errors="surrogatepass"), digest_size=16).digest()
        try:
            new = self._base.execute("insert or ignore into seen values (?)", (key,)).rowcount
        except sqlite3.Error as error:
            raise InputError(
                f"which ids have come before is kept in a temporary file, and that cannot be written: {error}."
            ) from None
        if not new:
            raise Flaw(f"has the id '{quotable(name)}' of an earlier record; ids must be unique")
