"""Corpus runs that are killed: `whylight run` with two workers; one of them, or the driver, gets a SIGKILL.

In the end the folder has the bytes of an undisturbed run in every file but those of times, and no file besides.
"""

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from outcome import Outcome

from whylight.store import parts

KILLS, TEXTS = 20, 60
PATIENCE = 900.0
"""Seconds after which an undisturbed run counts as hung."""
METHODS = ("occlusion", "input_x_gradient")


def command(data: Path, out: Path) -> list[str]:
    """Return the command that is killed."""
    asked = [part for name in METHODS for part in ("--method", name)]
    own = ["--data", str(data), "--out", str(out), "--workers", "2", "--shard", "8"]
    return [sys.executable, "-m", "whylight", "run", *own, *asked]


def sums(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file but those of times."""
    own = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != parts.TIMINGS)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in own}


def children(process: int) -> list[int]:
    """Return the workers of a run; helpers of Python's own are not among them."""
    with suppress(OSError):
        found = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
        return [int(one) for one in found if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()]
    return []


def killed(data: Path, out: Path, *, seconds: float, worker: bool, draw: random.Random) -> bool:
    """Start a run, and kill it or one of its workers after so many seconds; say whether it had to be asked again."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command(data, out), env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    ) as run:
        try:
            run.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            victims = children(run.pid) if worker else [run.pid]
            with suppress(ProcessLookupError):
                os.kill(draw.choice(victims or [run.pid]), signal.SIGKILL)
        if run.wait(timeout=PATIENCE) not in (0, -signal.SIGKILL):
            raise RuntimeError(f"it ended with {run.returncode}")
        return run.returncode != 0


def tried(root: Path, kills: int, draw: random.Random) -> Iterator[str]:
    """Kill a run so many times, and compare whenever it has ended."""
    data = root / "texts.txt"
    data.write_text("".join(f"a {'very ' * (n % 7)}good film, number {n}\n" for n in range(TEXTS)), encoding="utf-8")
    began = time.monotonic()
    killed(data, root / "whole", seconds=PATIENCE, worker=False, draw=draw)
    takes, right = time.monotonic() - began, sums(root / "whole")
    out = root / "run"
    for number in range(kills):
        moment = draw.uniform(0.2, 1.0) * takes
        worker = draw.random() < 0.5
        if not killed(data, out, seconds=moment, worker=worker, draw=draw) or number == kills - 1:
            killed(data, out, seconds=PATIENCE, worker=False, draw=draw)
            found = sums(out)
            others = {name for name in {**right, **found} if right.get(name) != found.get(name)}
            if others:
                yield f"after {number + 1} kills {len(others)} files differ, e.g. {min(others)}"
            shutil.rmtree(out)


def campaign(scale: float, seed: int) -> Outcome:
    """Kill corpus runs."""
    kills = max(1, round(KILLS * scale))
    with tempfile.TemporaryDirectory() as folder:
        return Outcome({"kills": kills}, list(tried(Path(folder), kills, random.Random(seed))))
