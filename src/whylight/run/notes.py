"""What workers note of the shards that they are at: a few bytes each, in the folder, without waiting for the disk.

Whoever drives the run reads there how far they have come, and which texts a worker had begun when it died. A note is
written by a worker and removed by the driver, when it has heard what became of the shard.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from whylight.store import files

WORKING = "working"
"""The folder of notes."""


@dataclass(frozen=True, slots=True)
class Noted:
    """What a worker has noted of its shard.

    Attributes:
        begun: The texts that it works on; those before them are done.
        new: How many of these it has worked on.
        failed: How many have failed, now or before.
    """

    begun: range
    new: int
    failed: int


class Note:
    """The note of one shard, as its worker writes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def begin(self, numbers: Sequence[int], *, new: int, failed: int) -> None:
        """Note that texts are begun."""
        if self._file is None:
            self._path.parent.mkdir(exist_ok=True)
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        said = (numbers[0], numbers[-1], new, failed)
        os.pwrite(self._file, (" ".join(f"{one:012d}" for one in said) + "\n").encode(), 0)

    def close(self) -> None:
        """Leave the note to the driver."""
        if self._file is not None:
            os.close(self._file)


@contextmanager
def note(folder: Path, first: int) -> Iterator[Note]:
    """Give the note of the shard that begins with this text."""
    made = Note(_path(folder, first))
    try:
        yield made
    finally:
        made.close()


def read(folder: Path, first: int) -> Noted | None:
    """Return what is noted of a shard; None if nothing is, or not yet all of it."""
    try:
        begun, last, new, failed = map(int, _path(folder, first).read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return None
    return Noted(range(begun, last + 1), new, failed)


def forget(folder: Path, first: int) -> None:
    """Remove the note of a shard."""
    with suppress(OSError):
        _path(folder, first).unlink()


def forget_all(folder: Path) -> None:
    """Remove all notes: of workers whose driver has died, too.

    Raises:
        InputError: They cannot be removed.
    """
    place = folder / WORKING
    with files.said(place):
        if place.is_dir():
            for path in place.iterdir():
                path.unlink(missing_ok=True)
            place.rmdir()


def _path(folder: Path, first: int) -> Path:
    return folder / WORKING / f"{first:08d}"
