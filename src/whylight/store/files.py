"""Files and folders of results: whose turn it is to write, writing in one step, and what to say where that fails."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from whylight.core.errors import InputError

CLAIM = ".claim"
PART = ".part"
"""How the name of a file ends that is not complete yet."""


@contextmanager
def said(path: Path, *, doing: str = "write") -> Iterator[None]:
    """Turn what the system says about a file or folder into one sentence.

    Args:
        path: What to name, where the system names no file of its own.
        doing: What is tried inside the block.
    """
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot {doing} '{path}': {(error.strerror or str(error)).rstrip('.')}.") from None
    except ValueError:  # a name with a NUL, which the system is not even asked about
        if "\0" not in str(path):
            raise
        raise InputError(f"cannot {doing} {str(path)!r}: the name holds a NUL character.") from None


def write(path: Path, content: bytes) -> None:
    """Write a file, which at every moment holds either its old content or all of the new one.

    Raises:
        InputError: The file cannot be written there.
    """
    place = check_place(path)
    with said(path):
        if place.exists() and not place.is_file():
            _write_through(place, content)  # a device or pipe, which must not be replaced by a file
        else:
            _replace(place, content)


def check_place(path: Path) -> Path:
    """Return where a file will be written, or say why it cannot be: before the work whose result it is to hold.

    Raises:
        InputError: There is no such folder, or the path is one.
    """
    with said(path):
        place = Path(os.path.realpath(path)) if path.is_symlink() else path
        if not place.parent.is_dir():
            raise NotADirectoryError(None, f"there is no folder '{place.parent}'")
        if place.is_dir():
            raise IsADirectoryError(None, "it is a folder, not a file")
        return place


def _replace(place: Path, content: bytes) -> None:
    """Write beside the place, then rename: only within a folder is that one step."""
    # short, so that a long name fits; no other process has it, on whichever machine
    beside = place.with_name(f".{place.name[:40]}-{os.getpid()}-{secrets.token_hex(4)}{PART}")
    try:
        _write_through(beside, content)
        if place.exists():
            beside.chmod(stat.S_IMODE(place.stat().st_mode))
        os.replace(beside, place)  # noqa: PTH105  what tests let fail
        settle(place.parent)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def _write_through(path: Path, content: bytes) -> None:
    """Write all of a file and have the system put it on its disk: a full one may say so only then."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o666)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(handle, left) :]
        if stat.S_ISREG(os.fstat(handle).st_mode):
            os.fsync(handle)
    finally:
        os.close(handle)


def settle(folder: Path) -> None:
    """Have the system put on its disk what a folder holds under which names: a power cut may lose a rename, too.

    Systems and disks that cannot do so for a folder are left alone.
    """
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Make a folder, if there is none, within one that is there.

    Raises:
        InputError: It cannot be made.
    """
    with said(folder):
        if not folder.is_dir():
            folder.mkdir(exist_ok=True)
            settle(folder.parent)


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Make a folder, and keep other commands out of it inside the block.

    The system ends the claim of a process that dies. What such a one left half-written is removed, and so is a folder
    that nothing came into.

    Raises:
        InputError: It cannot be made or written in, or another process is at work in it.
    """
    with said(folder):
        new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
    try:
        claim = _claim(folder)
        try:
            with said(folder):
                for path in folder.glob(f".*{PART}*"):
                    path.unlink()
            yield
        finally:
            with suppress(OSError):  # it is gone with its folder, or the system removes no open file and the lock does
                (folder / CLAIM).unlink()
            claim.release()
    finally:
        if new:
            with suppress(OSError):  # something came into it
                folder.rmdir()


def _claim(folder: Path) -> FileLock:
    claim = FileLock(folder / CLAIM)
    with said(folder):
        try:
            claim.acquire(timeout=0)
        except Timeout:  # which counts as an error of the system, too
            busy = f"another process is at work in '{folder}'; wait for it, or name another folder."
            raise InputError(busy) from None
    return claim
