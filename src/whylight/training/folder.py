"""The folder of a training: whose it is, its checkpoints, and moving what is complete into place."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from whylight.core.errors import InputError
from whylight.training import processes


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Keep other commands out of a folder inside the block; the system ends the claim of a process that dies."""
    if not processes.is_first():
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / ".claim"
    claim = FileLock(mark)
    try:
        claim.acquire(timeout=0)
    except Timeout:
        raise InputError(f"another process is at work in '{folder}'; wait for it, or name another folder.") from None
    try:
        yield
    finally:
        with suppress(OSError):  # it is gone with its folder, or the system removes no open file and the lock does
            mark.unlink()
        claim.release()


def mark_started(folder: Path, name: str) -> None:
    """Mark a folder as this training's own."""
    checkpoints = folder / "checkpoints"
    checkpoints.mkdir(parents=True, exist_ok=True)
    mark = checkpoints / "training"
    if mark.is_file() and mark.read_text(encoding="utf-8") != name:
        raise InputError(f"'{folder}' holds another training that was not finished; name another folder.")
    mark.write_text(name, encoding="utf-8")


def last_checkpoint(folder: Path) -> str | None:
    """Return the last checkpoint that is whole; its state is the last file that is written."""
    whole = [path for path in folder.glob("checkpoint-*") if (path / "trainer_state.json").is_file()]
    for path in folder.glob("checkpoint-*"):
        if path not in whole:
            shutil.rmtree(path)  # a kill left it half-written
    return str(max(whole, key=lambda path: int(path.name.rsplit("-", 1)[1]))) if whole else None


def move_in(new: Path, place: Path) -> None:
    """Move files into place, the configuration last: a folder without it is no model."""
    place.mkdir(parents=True, exist_ok=True)
    for path in sorted(new.iterdir(), key=lambda one: one.name == "config.json"):
        path.chmod(0o644)  # weights are saved readable by their owner only
        path.replace(place / path.name)
    new.rmdir()


def write_text(path: Path, text: str) -> None:
    """Write a file beside its place and move it there."""
    beside = path.with_name(f".{path.name}-{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
