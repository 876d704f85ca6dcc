"""Corpus runs that are killed: `whylight run` with two workers; one of them, or the driver, gets a SIGKILL.

In the end the folder has the bytes of an undisturbed run in every file but those of times, and no file besides: nothing
is lost, nothing doubled. `benchmarks/scale.py kills` does the same at full size.
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
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from outcome import Outcome

from whylight.run.notes import WORKING
from whylight.store import parts

KILLS, TEXTS, SHARD = 20, 120, 8
IN_WORK = 0.8
"""Share of the kills that come once texts are worked on; the others may come before."""
PATIENCE = 6 * 3600.0
"""Seconds after which a run counts as hung."""
METHODS = ("occlusion", "input_x_gradient")
WORKER, DRIVER, LATE, IDLE = "of a worker", "of the driver", "too late", "before the work"


def command(data: Path, *more: str) -> list[str]:
    """Return the command that is killed, without its folder."""
    asked = [part for name in METHODS for part in ("--method", name)]
    return [sys.executable, "-m", "whylight", "run", "--data", str(data), "--workers", "2", *asked, *more]


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


def started(asked: list[str], out: Path) -> "subprocess.Popen[bytes]":
    """Start a run."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    quiet = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    return subprocess.Popen([*asked, "--out", str(out)], env=environment, **quiet)  # type: ignore[call-overload]


def works(out: Path, since: float) -> bool:
    """Say whether texts are worked on that were begun since a moment: a killed run leaves its notes."""
    with suppress(OSError):
        return any(path.stat().st_mtime > since for path in (out / WORKING).iterdir())
    return False


def shards(out: Path) -> int:
    """Return how many shards a run has written, or has begun to write."""
    return len({path.name.partition("-")[0] for path in (out / parts.COMMITS).glob("*.parquet")})


def undisturbed(asked: list[str], out: Path) -> tuple[float, float]:
    """Run without a kill; return the seconds before the first text, and those of the work."""
    began = first = time.time()
    with started(asked, out) as run:
        while run.poll() is None and not works(out, began):
            time.sleep(0.01)
        first = time.time()
        if run.wait(PATIENCE):
            raise RuntimeError(f"it ended with {run.returncode}")
    return first - began, time.time() - first


@dataclass(frozen=True)
class Moment:
    """When a kill comes.

    Attributes:
        more: So many more shards are written by then; None for a kill that may come before any work.
        seconds: So long after that, or after the start.
    """

    more: int | None
    seconds: float


@dataclass
class Victim:
    """A run that is killed again and again, and started again whenever it is gone.

    Attributes:
        asked: The command, without its folder.
        out: Its folder.
        draw: Says whom kills hit.
        hits: Counts whom they have hit.
    """

    asked: list[str]
    out: Path
    draw: random.Random
    hits: Counter[str] = field(default_factory=Counter)
    _run: "subprocess.Popen[bytes] | None" = None
    _began: float = 0.0

    def kill(self, moment: Moment) -> bool:
        """Kill the run or one of its workers at a moment; say whether it has come to its end before that."""
        if self._run is None:
            self._run, self._began = started(self.asked, self.out), time.time()
        run, enough = self._run, shards(self.out) + (moment.more or 0)
        while moment.more is not None and run.poll() is None and not (self._works() and shards(self.out) >= enough):
            time.sleep(0.01)
        try:
            run.wait(timeout=moment.seconds)
        except subprocess.TimeoutExpired:
            self._hit(run)
            return False
        self.hits[LATE] += 1
        return self.ended()

    def _works(self) -> bool:
        return works(self.out, self._began)

    def _hit(self, run: "subprocess.Popen[bytes]") -> None:
        workers, working = children(run.pid) if self.draw.random() < 1 / 2 else [], self._works()
        with suppress(ProcessLookupError):
            os.kill(self.draw.choice(workers or [run.pid]), signal.SIGKILL)
        self.hits[(WORKER if workers else DRIVER) if working else IDLE] += 1
        if not workers:
            run.wait()
            self._run = None

    def ended(self) -> bool:
        """Let the run come to its end."""
        run = self._run or started(self.asked, self.out)
        if run.wait(timeout=PATIENCE):
            raise RuntimeError(f"it ended with {run.returncode}")
        self._run = None
        return True


def differences(one: dict[str, str], other: dict[str, str]) -> list[str]:
    """Name the files that two folders do not have alike."""
    return sorted(name for name in {**one, **other} if one.get(name) != other.get(name))


def disturbed(victim: Victim, right: dict[str, str], moments: Sequence[Moment]) -> Iterator[str]:
    """Kill a run at moments; whenever it has ended, hold it against an undisturbed one, and begin anew.

    Args:
        victim: The run.
        right: What an undisturbed one has.
        moments: When kills come.
    """
    for number, moment in enumerate(moments, start=1):
        if victim.kill(moment) or (number == len(moments) and victim.ended()):
            if others := differences(right, sums(victim.out)):
                yield f"after {number} kills {len(others)} files differ, e.g. {others[0]}"
            shutil.rmtree(victim.out)


def campaign(scale: float, seed: int) -> Outcome:
    """Kill corpus runs."""
    kills, draw = max(1, round(KILLS * scale)), random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        data = root / "texts.txt"
        texts = (f"a {'very ' * (n % 7)}good film, number {n}\n" for n in range(TEXTS))
        data.write_text("".join(texts), encoding="utf-8")
        asked = command(data, "--shard", str(SHARD))
        idle, takes = undisturbed(asked, root / "whole")
        each = takes * SHARD / TEXTS
        moments = [
            Moment(draw.randrange(TEXTS // SHARD // 2), draw.uniform(0, each))
            if draw.random() < IN_WORK
            else Moment(None, draw.uniform(0, idle))
            for _ in range(kills)
        ]
        victim = Victim(asked, root / "run", draw)
        found = list(disturbed(victim, sums(root / "whole"), moments))
    return Outcome({"kills": kills, **{name: victim.hits[name] for name in (WORKER, DRIVER, IDLE, LATE)}}, found)
