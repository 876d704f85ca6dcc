"""Failing file systems: the n-th call of the system that a command makes fails, for every n until the command passes.

After each failure the command has ended in one sentence, what is in the folder can be read or is refused in one
sentence, no file is left half-written, and the same command, asked again, gives what an undisturbed one gives.
"""

import builtins
import contextlib
import errno
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from outcome import Outcome

import tiny
import whylight as wl
from whylight.core.errors import WhylightError
from whylight.core.identity import Identity
from whylight.models.prepare import Prepared
from whylight.models.quiet import quiet
from whylight.report import page, run_page
from whylight.run import book
from whylight.store import runs
from whylight.store.files import PART
from whylight.training import result
from whylight.training.folder import CHECKPOINTS, claimed_by_one, mark_started
from whylight.training.result import finished

CALLS = ("open", "write", "fsync", "replace", "mkdir", "unlink")
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT)
TIMED = ("seconds", "peak_megabytes")


@dataclass
class Faults:
    """A file system whose n-th call fails, as far as it is asked from Python and about one folder."""

    folder: Path
    fails_at: int | None
    error: int
    calls: int = 0

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Put the calls in place inside the block."""
        with contextlib.ExitStack() as stack:
            for name in CALLS:
                stack.enter_context(patch.object(os, name, self._failing(name, getattr(os, name))))
            stack.enter_context(patch.object(builtins, "open", self._failing("open", builtins.open)))
            yield

    def _failing(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if self._is_ours(arguments[0]):
                self.calls += 1
                if self.calls == self.fails_at:
                    raise OSError(self.error, os.strerror(self.error), f"{name} {arguments[0]}")
            return real(*arguments, **options)

        return call

    def _is_ours(self, place: object) -> bool:
        if isinstance(place, int):
            with contextlib.suppress(OSError):
                return str(self.folder) in str(Path(f"/proc/self/fd/{place}").readlink())
            return False
        return str(self.folder) in os.fsdecode(place) if isinstance(place, str | bytes | os.PathLike) else False


@dataclass(frozen=True)
class Command:
    """What is tried.

    Attributes:
        name: What to call it.
        write: Does its work in a folder.
        read: Returns what stands there, whatever the clock says; one sentence where that cannot be read.
        before: What stands in the folder beforehand.
    """

    name: str
    write: Callable[[Path], object]
    read: Callable[[Path], object]
    before: Callable[[Path], object] = lambda _: None


def commands() -> list[Command]:
    """Return the commands that write."""
    names = {0: "negative", 1: "positive"}
    model = tiny.model("bert", id2label=names, label2id={name: number for number, name in names.items()})
    classifier = wl.load(model, tiny.tokenizer("bert"))
    data, tune = (wl.dataset("planted:", split=split, size=2, length=8) for split in ("test", "dev"))
    asked: dict[str, Any] = {"methods": ["input_x_gradient"], "metrics": ["aopc_comprehensiveness", "token_f1"]}
    explained = page.page([wl.explain(classifier, "a good film", method="input_x_gradient")])

    def evaluate(folder: Path) -> None:
        wl.evaluate(classifier, data, tune=tune, out=folder / "run", progress=False, **asked)

    def report(folder: Path) -> None:
        page.write_page(folder / "report.html", run_page.run_page(folder / "run"))

    return [
        Command("evaluate", evaluate, _rows),
        Command("evaluate again", evaluate, _rows, before=evaluate),
        Command("report --out", report, _texts, before=evaluate),
        Command("explain --out", lambda folder: page.write_page(folder / "page.html", explained), _texts),
        Command("train", partial(_train, Prepared(model, tiny.tokenizer("bert"), 64, fresh=False)), _texts),
    ]


def _train(prepared: Prepared, folder: Path) -> None:
    """Do what a training does to its folder, but for the checkpoints, which a library of another language writes."""
    identity = Identity(contents={"weights": "0"}, settings={}, names={})
    place = folder / "model"
    if finished(place, identity) is None:
        with claimed_by_one(place / CHECKPOINTS):
            mark_started(place, identity)
            receipt = {"training": identity.name, "asked": identity.asked, "unmet": False, "history": []}
            with quiet(), patch.object(result, "draw_curves", lambda _: "<svg/>"):
                result.write_result(prepared.model, prepared.tokenizer, place, receipt, place=place)


def _rows(folder: Path) -> object:
    """Return the rows of the texts that are done, and what the run says of itself."""
    stored = runs.read(folder / "run")
    about = None if stored.about is None else replace(stored.about, **dict.fromkeys(TIMED))
    own = (stored.explanations, stored.scores, stored.curves, stored.tuning)
    return [about, *([{**row, "seconds": 0} for row in rows] for rows in own)]


def _texts(folder: Path) -> object:
    """Return the bytes of every file but tables, whose rows hold times."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".parquet"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def attempt(command: Command, folder: Path, faults: Faults) -> str | None:
    """Do the work on a failing file system; return what is wrong with how it ends, if anything is."""
    try:
        with faults.installed():
            command.write(folder)
    except WhylightError as error:
        if "\n" in str(error) or not str(error).endswith("."):
            return f"not one sentence: {error!r}"
    except BaseException as error:  # noqa: BLE001  any other is what must not happen
        return f"raised {error!r}"
    return None


def wrongs(command: Command, folder: Path, right: object) -> Iterator[str]:
    """Look at a folder after a failure, and do the work again."""
    left = [path.name for path in folder.rglob(f".*{PART}*")]
    if left:
        yield f"left {left}"
    try:
        command.read(folder)
    except WhylightError:
        pass  # refused in a sentence
    except Exception as error:  # noqa: BLE001
        yield f"reading raised {error!r}"
    try:
        command.write(folder)
    except Exception as error:  # noqa: BLE001
        yield f"the next call raised {error!r}"
        return
    if command.read(folder) != right:
        yield "the next call gave something else"
    strays = [path.name for path in folder.rglob(".*")]
    if strays:
        yield f"the next call left {strays}"


def campaign(scale: float, seed: int) -> Outcome:
    """Let every call fail once, or a share of them."""
    draw = random.Random(seed)
    tried = {"commands": 0, "fault points": 0}
    violations: list[str] = []
    with tempfile.TemporaryDirectory() as root, patch.object(book, "WRITE_EVERY", 0.0):
        for command in commands():
            template = Path(root) / "template"
            template.mkdir()
            command.before(template)
            whole = Path(shutil.copytree(template, Path(root) / "whole"))
            undisturbed = Faults(whole, None, 0)
            with undisturbed.installed():
                command.write(whole)
            right = command.read(whole)
            tried["commands"] += 1
            for place in range(1, undisturbed.calls + 1):
                if draw.random() >= scale:
                    continue
                folder = Path(shutil.copytree(template, Path(root) / "folder"))
                error = draw.choice(ERRORS)
                wrong = attempt(command, folder, Faults(folder, place, error))
                found = [*([wrong] if wrong else []), *wrongs(command, folder, right)]
                violations += [f"{command.name}, call {place}, {errno.errorcode[error]}: {one}" for one in found]
                tried["fault points"] += 1
                shutil.rmtree(folder)
            shutil.rmtree(template)
            shutil.rmtree(whole)
    return Outcome(tried, violations)
