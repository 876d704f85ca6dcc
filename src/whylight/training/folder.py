"""The folder of a training: whose it is, its checkpoints, and moving what is complete into place."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from safetensors import SafetensorError

from whylight.core.errors import InputError
from whylight.core.identity import Identity
from whylight.store import files
from whylight.training import processes

CHECKPOINTS = "checkpoints"


@contextmanager
def claimed_by_one(folder: Path) -> Iterator[None]:
    """Keep other commands out of a folder inside the block; of several processes that train together, one claims it."""
    try:
        str(folder).encode()
    except UnicodeEncodeError:  # as safetensors writes no file below such a folder
        raise InputError(f"cannot write in '{folder}': its name is not UTF-8; name another folder.") from None
    with files.claimed(folder) if processes.is_first() else nullcontext():
        yield


@contextmanager
def saving(folder: Path) -> Iterator[None]:
    """Say in one sentence that a model cannot be written, whatever the libraries that write it call that."""
    try:
        with files.said(folder):
            yield
    except (SafetensorError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise InputError(f"cannot write in '{folder}': {reason or type(error).__name__}.") from error


@contextmanager
def interruptible(folder: Path) -> Iterator[None]:
    """Say to who stops the work by hand that it can go on."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"what was done is in '{folder}', and the same call resumes from there") from None


def mark_started(
    folder: Path,
    identity: Identity,
    *,
    name: str = f"{CHECKPOINTS}/training",
    kind: str = "training that was not finished",
) -> None:
    """Mark a folder as this training's own; one of another is refused.

    Args:
        folder: The folder.
        identity: Whose it is.
        name: The file in it that says so.
        kind: What it holds, for the refusal.
    """
    mark = folder / name
    with files.said(mark, doing="read"):
        is_new = not mark.is_file()
        known = None if is_new else _parsed_json(mark)
    own = known if isinstance(known, dict) else {"asked": {}}  # version 0.1 wrote a name alone
    if not is_new and own.get("training") != identity.name:
        raise identity.refusal(folder, own.get("asked"), kind=kind)
    if is_new and processes.is_first():
        write_text(mark, json.dumps({"training": identity.name, "asked": identity.asked}, indent=1) + "\n")


def is_started(folder: Path) -> bool:
    """Say whether a training that was not finished stands in a folder."""
    return (folder / CHECKPOINTS / "training").is_file()


def _parsed_json(path: Path) -> object:
    """Read a JSON file; one that is not complete is None."""
    try:
        return json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except ValueError:
        return None


def last_checkpoint(folder: Path) -> str | None:
    """Return the last checkpoint that is whole; its state is the last file that is written."""
    with files.said(folder):
        whole = [path for path in folder.glob("checkpoint-*") if isinstance(_trainer_state(path), dict)]
        for path in folder.glob("checkpoint-*"):
            if path not in whole and processes.is_first():
                shutil.rmtree(path)  # a kill left it half-written
    return str(max(whole, key=lambda path: int(path.name.rsplit("-", 1)[1]))) if whole else None


def _trainer_state(checkpoint: Path) -> object:
    path = checkpoint / "trainer_state.json"
    return _parsed_json(path) if path.is_file() else None


def move_in(new: Path, place: Path) -> None:
    """Move files into place, the configuration last: a folder without it is no model."""
    place.mkdir(parents=True, exist_ok=True)
    for path in sorted(new.iterdir(), key=lambda one: one.name == "config.json"):
        path.chmod(0o644)  # weights are saved readable by their owner only
        path.replace(place / path.name)
    new.rmdir()


def write_text(path: Path, text: str) -> None:
    """Write a file in one step."""
    files.write(path, text.encode())
