"""What `scale.py` runs and looks at: bare loops, memory of processes, a cluster that loses a node."""

import multiprocessing
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any, Self

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "campaign"))

import corpora
import numpy as np
import torch
from clock import Result

import whylight as wl

METHODS = ("occlusion", "input_x_gradient", "decompx_linear")
FLAT = 1.1


class Memory:
    """The memory of a driver and of its workers, looked at every half second while a block is on."""

    def __init__(self, driver: int) -> None:
        self._driver, self._ended = driver, Event()
        self.seen: list[tuple[float, float, float]] = []
        self.seconds = 0.0

    def __enter__(self) -> Self:
        self._thread, self._began = Thread(target=self._look, daemon=True), time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.seconds = time.monotonic() - self._began

    def _look(self) -> None:
        while not self._ended.wait(0.5):
            workers = [megabytes(one) for one in corpora.children(self._driver)]
            self.seen.append((time.monotonic() - self._began, megabytes(self._driver), max(workers, default=0.0)))

    def tenths(self) -> dict[str, Any]:
        """Return the most memory in the first and the last tenth of the time in which workers have a model."""
        most = max((worker for *_, worker in self.seen), default=0.0)
        at_work = [one for one in self.seen if one[2] > most / 2]
        tenth = max(1, len(at_work) // 10)
        return {
            name: [max(one[place] for one in own) for own in (at_work[:tenth], at_work[-tenth:])]
            for name, place in (("driver", 1), ("worker", 2))
        }


def megabytes(process: int) -> float:
    """Return the memory that a process takes now."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def flat(name: str, found: dict[str, Any]) -> Iterator[Result]:
    """Hold memory at the end against memory at the beginning."""
    for who in ("driver", "worker"):
        first, last = found[who]
        ratio = last / max(first, 1e-9)
        detail = f"{first:.0f}, {last:.0f} MB"
        yield Result(f"{name}: memory of the {who}, last / first tenth", ratio, f"<= {FLAT}", ratio <= FLAT, detail)


def command(data: Path) -> list[str]:
    """Return the command of a run by three methods, without its folder."""
    asked = [part for name in METHODS for part in ("--method", name)]
    return [sys.executable, "-m", "whylight", "run", "--data", str(data), *asked]


def on_disk(folder: Path) -> tuple[int, int]:
    """Return the bytes and the number of files of a folder."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return sum(sizes), len(sizes)


def parts_of(folder: Path) -> dict[str, str]:
    """Return the hashes of the files of a run but those that say how it was asked for."""
    return {name: own for name, own in corpora.sums(folder).items() if "/" in name}


def trivial(texts: list[str]) -> Any:  # noqa: ANN401  an array
    """Answer at once."""
    return np.tile([0.3, 0.7], (len(texts), 1))


def explained(texts: list[str], seconds: Any) -> None:  # noqa: ANN401  a queue
    """Explain texts one after the other by every method; say what that took."""
    torch.set_num_threads(1)
    classifier = wl.load()
    wl.explain(classifier, texts[0], method=list(METHODS), progress=False)
    began = time.perf_counter()
    for text in texts:
        wl.explain(classifier, text, method=list(METHODS), progress=False)
    seconds.put(time.perf_counter() - began)


def bare(texts: list[str], count: int) -> float:
    """Explain texts in so many bare processes; return what the slowest took, its loading aside."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    processes = [context.Process(target=explained, args=(texts[place::count], queue)) for place in range(count)]
    for process in processes:
        process.start()
    took = [queue.get() for _ in processes]
    for process in processes:
        process.join()
    return max(took)


def losing_a_node(data: Path, out: Path, shard: int) -> dict[str, Any]:
    """Run on two nodes of one CPU each, and remove one once some shards are written."""
    import ray  # noqa: PLC0415  only this part needs it
    from ray.cluster_utils import Cluster  # noqa: PLC0415

    shutil.rmtree(out, ignore_errors=True)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    other = cluster.add_node(num_cpus=1)

    def lose() -> None:
        while corpora.shards(out) < 3:
            time.sleep(0.05)
        cluster.remove_node(other, allow_graceful=False)

    try:
        ray.init(address=cluster.address, log_to_driver=False)
        Thread(target=lose, daemon=True).start()
        asked: dict[str, Any] = {"methods": list(METHODS), "shard": shard, "progress": False}
        found = wl.run_corpus(None, data, out=out, workers=2, engine="ray", **asked)
    finally:
        ray.shutdown()
        cluster.shutdown()
    return {"deaths": found.deaths, "failed": found.failed, "seconds": found.seconds}
