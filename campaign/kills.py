"""Kills without warning: evaluations, trainings and searches that get a SIGKILL at random moments and are asked again.

In the end each has what an undisturbed one has: no row lost, none doubled, the same figures, the same bits of weights.
Processes are forked from one that has loaded the libraries, because loading takes longer than the work.
"""

import json
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from outcome import Outcome

import tiny
import whylight as wl
from whylight.run import book
from whylight.store import parts, runs
from whylight.store.success import SUCCESS
from whylight.training.recipe import recipe
from whylight.training.tune import tune

TIMED = ("seconds", "peak_megabytes")
PATIENCE = 300.0
"""Seconds after which an undisturbed process counts as hung."""
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["whylight.run.evaluate", "whylight.training.tune", "whylight.models.load"])


@dataclass(frozen=True)
class Work:
    """What is killed.

    Attributes:
        name: What to call it.
        kills: How often, in the whole campaign.
        run: Does the work, from the model in one folder into another.
        read: Returns what stands in the folder, whatever the clock says.
    """

    name: str
    kills: int
    run: Callable[[Path, Path], None]
    read: Callable[[Path], dict[str, Any]]


def _data(split: str, size: int) -> Any:
    return wl.dataset("planted:", split=split, size=size, length=8)


def _evaluate(start: Path, out: Path) -> None:
    asked: dict[str, Any] = {"methods": ["occlusion", "lime"], "metrics": ["aopc_comprehensiveness", "token_f1"]}
    clf = wl.load(start)
    with patch.object(book, "WRITE_EVERY", 0.0):  # so that most kills come while tables are written
        wl.evaluate(clf, _data("test", 16), tune=_data("dev", 4), out=out, progress=False, **asked)


def _train(start: Path, out: Path) -> None:
    numbers: dict[str, Any] = {"epochs": 4, "batch_size": 4, "learning_rate": 1e-3, "patience": 4}
    objectives = ["rationale_attention"]
    wl.train(start, _data("train", 16), _data("dev", 8), out=out, progress=False, objectives=objectives, **numbers)


def _tune(start: Path, out: Path) -> None:
    asked = recipe(epochs=2, batch_size=4)
    both = _data("train", 8), _data("dev", 8)
    found = tune(start, *both, asked, out=out, search=["learning_rate=1e-4:1e-2:log"], trials=3, progress=False)
    trials = [[one.value, one.parameters] for one in found.trials]
    (out / "found.json").write_text(json.dumps(trials), encoding="utf-8")


def _rows(out: Path) -> dict[str, Any]:
    """Return all rows of a run but for what the clock says, what it says of itself, and files that are nobody's."""
    stored = runs.read(out)
    tables = {name: parts.stored_rows(out, stored.commits or (), name) for name in (*parts.SCHEMAS, parts.COMMITS)}
    found: dict[str, Any] = {
        name: [json.dumps({**row, **dict.fromkeys(TIMED)}, sort_keys=True) for row in rows]
        for name, rows in tables.items()
    }
    known = {out / runs.MANIFEST, out / SUCCESS, *(part.path for rows in tables.values() for part in rows.parts)}
    known |= {part.timings for rows in tables.values() for part in rows.parts if part.timings is not None}
    strays = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file() and path not in known)
    about = None if stored.about is None else (stored.about.run, stored.about.asked, stored.about.rows_run)
    return found | {"about": about, "files": strays}


def _model(out: Path) -> dict[str, Any]:
    receipt = json.loads((out / "training.json").read_text(encoding="utf-8"))
    figures = {name: value for name, value in receipt["validation"].items() if name not in TIMED}
    names = {path.name for path in out.iterdir()}
    return {"weights": (out / "model.safetensors").read_bytes(), "figures": figures, "files": names}


def _search(out: Path) -> dict[str, Any]:
    names = {path.name for path in out.iterdir()}
    return _model(out / "best") | {"trials": (out / "found.json").read_text(encoding="utf-8"), "folder": names}


WORKS = (
    Work("evaluate", 20, _evaluate, _rows),
    Work("train", 18, _train, _model),
    Work("tune", 12, _tune, _search),
)


def child(name: str, start: str, out: str) -> None:
    """Do one work in a process of its own."""
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)
    next(work for work in WORKS if work.name == name).run(Path(start), Path(out))


def alive(work: Work, start: Path, out: Path, *, seconds: float) -> tuple[bool, int | None]:
    """Do the work in a process, and kill it after so many seconds; return whether it was killed, and its exit code."""
    process = _SERVER.Process(target=child, args=(work.name, str(start), str(out)))
    process.start()
    process.join(seconds)
    killed = process.is_alive()
    process.kill()
    process.join()
    return killed, process.exitcode


def differences(work: Work, out: Path, right: dict[str, Any]) -> Iterator[str]:
    """Say what stands in a folder that an undisturbed work would not leave there, or what is missing."""
    try:
        found = work.read(out)
    except Exception as error:  # noqa: BLE001  whatever it is, the result cannot be read
        yield f"cannot be read: {error!r}"
        return
    for name, own in right.items():
        other = found[name]
        if other != own:
            if isinstance(own, list):
                lost, doubled = len(set(own) - set(other)), len(other) - len(set(other))
                yield f"{name}: {lost} rows lost, {doubled} doubled, {len(set(other) - set(own))} others"
            else:
                yield f"{name} differ"


def tried(work: Work, root: Path, start: Path, *, kills: int, draw: random.Random) -> Iterator[str]:
    """Kill one work so many times; whenever it ends by itself, look at what it gave and start anew."""
    whole, out = root / f"{work.name}-whole", root / work.name
    began = time.monotonic()
    _, code = alive(work, start, whole, seconds=PATIENCE)
    takes = time.monotonic() - began
    if code:
        yield f"{work.name}: an undisturbed one ended with {code}"
        return
    right, done, moments = work.read(whole), 0, []
    while True:
        moment = draw.uniform(0.1, 1.0) * takes if done < kills else PATIENCE
        killed, code = alive(work, start, out, seconds=moment)
        if killed:
            done += 1
            moments.append(round(moment, 2))
            continue
        about = f"{work.name}, killed after {moments} s"
        if code:
            yield f"{about}: the next call ended with {code}"
        else:
            yield from (f"{about}: {one}" for one in differences(work, out, right))
        shutil.rmtree(out, ignore_errors=True)
        moments = []
        if done >= kills:
            return


def campaign(scale: float, seed: int) -> Outcome:
    """Kill evaluations, trainings and searches."""
    draw = random.Random(seed)
    counts = {work.name: round(work.kills * scale) for work in WORKS}
    violations: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        root, start = Path(folder), Path(folder) / "start"
        names = {0: "negative", 1: "positive"}
        model = tiny.model("bert", id2label=names, label2id={name: number for number, name in names.items()})
        model.save_pretrained(start)
        tiny.tokenizer("bert").save_pretrained(start)
        for work in WORKS:
            if counts[work.name]:
                violations += tried(work, root, start, kills=counts[work.name], draw=draw)
    return Outcome(
        {"kills": sum(counts.values())} | {f"of {name}": count for name, count in counts.items()}, violations
    )
