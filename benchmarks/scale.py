"""Corpus runs: `python benchmarks/scale.py [--texts 10000] [--rows 1000000] [PART ...]`; not part of `make bench`.

    memory    so many rows of a trivial callable: peak memory of driver and worker, last tenth / first tenth
    overhead  `run` with one worker, the loading of the model aside, against a bare loop of `wl.explain`
    workers   two workers (local, and Ray where it is installed) against two bare processes in the same minutes, and one
    forecast  what `--dry-run` says against what the run took

Texts are those of SST where `--data` names its folder, else made-up sentences of 5 to 30 words.
"""

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from clock import Result

import whylight as wl
from whylight.core.memory import resident_bytes
from whylight.data.stream import stream
from whylight.engines.where import Where
from whylight.models.load import load
from whylight.run import driving
from whylight.run.estimating import forecast
from whylight.run.evaluate import Question
from whylight.run.running import Asked

METHODS = ("occlusion", "input_x_gradient", "decompx_linear")
FLAT, OVERHEAD, SHARE, SPEEDUP, FORECAST = 1.1, 1.05, 0.9, 1.6, 0.25
WORDS = (
    *("a", "the", "good", "bad", "film", "plot", "is", "was", "moving", "dull", "very", "not"),
    *("quite", "story", "of", "and", "with", "cast", "lovely", "awful", "ending"),
)


def trivial(texts: list[str]) -> Any:  # noqa: ANN401  an array
    """Answer at once."""
    return np.tile([0.3, 0.7], (len(texts), 1))


def sentences(count: int, folder: Path | None) -> list[str]:
    """Return so many texts."""
    if folder is not None:
        every = [
            record.example.key
            for split in ("train", "dev", "test")
            for record in wl.dataset(f"sst:{folder}", split=split)
        ]
        return (every * (1 + count // len(every)))[:count]
    draw = random.Random(0)  # noqa: S311  sentences, not secrets
    return [f"{number} {' '.join(draw.choices(WORDS, k=draw.randint(5, 30)))}" for number in range(count)]


def written(path: Path, texts: Iterator[str]) -> str:
    """Write texts as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        for text in texts:
            file.write(json.dumps({"text": text}) + "\n")
    return str(path)


def memory(root: Path, rows: int) -> Iterator[Result]:
    """Watch memory over very many rows, in one worker process and its driver."""
    data = written(root / "rows.jsonl", (f"row {number} of many" for number in range(rows)))
    seen: list[tuple[int, float, float]] = []
    add = driving.Count.add

    def noting(self: driving.Count, receipt: Any) -> None:  # noqa: ANN401
        add(self, receipt)
        seen.append((self.texts, resident_bytes() / 2**20, receipt.peak_megabytes or 0.0))

    driving.Count.add = noting  # type: ignore[method-assign]
    given: dict[str, Any] = {"labels": ["no", "yes"], "identity": "trivial"}
    began = time.monotonic()
    found = wl.run_corpus(trivial, data, methods=["random"], out=root / "rows", load=given, progress=False)
    driving.Count.add = add  # type: ignore[method-assign]
    seconds = time.monotonic() - began
    tenth = max(1, len(seen) // 10)
    for name, place in (("driver", 1), ("worker", 2)):
        first, last = (max(one[place] for one in own) for own in (seen[:tenth], seen[-tenth:]))
        ratio = last / max(first, 1e-9)
        yield Result(
            f"memory of the {name}: last / first tenth",
            ratio,
            f"<= {FLAT}",
            ratio <= FLAT,
            f"{first:.0f}, {last:.0f} MB",
        )
    size = sum(path.stat().st_size for path in (root / "rows").rglob("*") if path.is_file())
    count = sum(1 for path in (root / "rows").rglob("*") if path.is_file())
    yield Result(
        "rows a second",
        rows / seconds,
        "-",
        met=True,
        detail=f"{found.texts:,} rows, {count:,} files, {size / 2**20:.0f} MB",
    )


def bare(texts: list[str], seconds: Any = None) -> float:  # noqa: ANN401  a queue
    """Explain texts one after the other by every method; return what that took."""
    torch.set_num_threads(1)
    classifier = wl.load()
    wl.explain(classifier, texts[0], method=list(METHODS), progress=False)
    began = time.perf_counter()
    for text in texts:
        wl.explain(classifier, text, method=list(METHODS), progress=False)
    took = time.perf_counter() - began
    if seconds is not None:
        seconds.put(took)
    return took


def bare_processes(texts: list[str], count: int) -> float:
    """Explain texts in so many bare processes; return what the slowest took, its loading aside."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    shares = [texts[place::count] for place in range(count)]
    processes = [context.Process(target=bare, args=(own, queue)) for own in shares]
    for process in processes:
        process.start()
    took = [queue.get() for _ in processes]
    for process in processes:
        process.join()
    return max(took)


def timed(data: str, out: Path, **given: Any) -> float:  # noqa: ANN401
    """Run, and return the seconds between the first receipt and the last, as of all shards."""
    moments: list[tuple[float, int]] = []
    add = driving.Count.add

    def noting(self: driving.Count, receipt: Any) -> None:  # noqa: ANN401
        add(self, receipt)
        moments.append((time.perf_counter() - receipt.seconds, self.texts))
        moments.append((time.perf_counter(), self.texts))

    driving.Count.add = noting  # type: ignore[method-assign]
    wl.run_corpus(None, data, methods=list(METHODS), out=out, progress=False, shard=64, **given)
    driving.Count.add = add  # type: ignore[method-assign]
    return max(one for one, _ in moments) - min(one for one, _ in moments)


def overhead(root: Path, texts: list[str]) -> Iterator[Result]:
    """Hold a run with one worker against a bare loop."""
    data = written(root / "one.jsonl", iter(texts))
    loop, run = bare_processes(texts, 1), timed(data, root / "one")
    yield Result(
        "run / bare loop",
        run / loop,
        f"<= {OVERHEAD}",
        run <= OVERHEAD * loop,
        f"{run:.1f} and {loop:.1f} s, {len(texts)} texts",
    )


def workers(root: Path, texts: list[str]) -> Iterator[Result]:
    """Hold two workers against two bare processes, and against one worker."""
    data = written(root / "two.jsonl", iter(texts))
    one, two = timed(data, root / "alone"), bare_processes(texts, 2)
    for engine in ("local", "ray"):
        try:
            took = timed(data, root / engine, workers=2, engine=engine)
        except wl.WhylightError as error:
            yield Result(f"{engine}", float("nan"), "-", met=True, detail=str(error))
            continue
        yield Result(
            f"{engine}: share of two bare processes",
            two / took,
            f">= {SHARE}",
            two / took >= SHARE,
            f"{took:.1f}, {two:.1f} s",
        )
        yield Result(
            f"{engine}: two workers against one",
            one / took,
            f">= {SPEEDUP}",
            one / took >= SPEEDUP,
            f"{one:.1f}, {took:.1f} s",
        )


def foretold(root: Path, texts: list[str]) -> Iterator[Result]:
    """Hold what is said beforehand against what comes."""
    data = written(root / "said.jsonl", iter(texts))
    asked = Asked(
        Question(methods=METHODS, metrics=[], baseline=False), stream(data, unlabelled=True), root / "said", Where()
    )
    said = forecast(partial(load, None), asked)
    took = timed(data, root / "took")
    off = abs(said.seconds / took - 1)
    yield Result(
        "forecast of the time: off by", off, f"<= {FORECAST}", off <= FORECAST, f"{said.seconds:.1f}, {took:.1f} s"
    )
    size = sum(path.stat().st_size for path in (root / "took").rglob("*") if path.is_file())
    yield Result("forecast of the disk", said.bytes / size, "-", met=True, detail=f"{said.bytes:,}, {size:,} bytes")


def main() -> int:
    """Run, print one line per figure, and fail if a target is missed."""
    parser = argparse.ArgumentParser(description="Memory, overhead and workers of corpus runs.")
    parser.add_argument("parts", nargs="*", choices=["memory", "overhead", "workers", "forecast", []], default=[])
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--data", type=Path, help="Folder of SST trees.")
    given = parser.parse_args()
    texts = sentences(given.texts, given.data)
    every: dict[str, Callable[[Path], Iterator[Result]]] = {
        "memory": partial(memory, rows=given.rows),
        "overhead": partial(overhead, texts=texts),
        "workers": partial(workers, texts=texts),
        "forecast": partial(foretold, texts=texts),
    }
    met = True
    for name in given.parts or every:
        with tempfile.TemporaryDirectory() as folder:
            for one in every[name](Path(folder)):
                state = "met" if one.met else "MISSED"
                print(f"{one.name}: {one.value:.4g} ({one.target}, {state}); {one.detail}", flush=True)
                met = met and one.met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
