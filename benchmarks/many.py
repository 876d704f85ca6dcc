"""Many texts: `python benchmarks/many.py [--texts 10000] [--kills 10]`; not part of `make bench`.

So many tiny, distinct texts go through `wl.evaluate(..., out=...)` in a process of their own. Memory and seconds per
text of the last tenth are held against those of the first, as the run itself noted them, and processor time, which
other load on the machine does not touch. Then the same run is killed at random moments and asked again, until it ends:
it must have the rows of the undisturbed one, in their order, times aside.
"""

import argparse
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, median

import torch
from clock import Result

import whylight as wl
from whylight.core.rationale import Rationale
from whylight.core.text import Span, Text
from whylight.data.dataset import Dataset, Record
from whylight.run import book
from whylight.store import parts, runs
from whylight.store.tables import Row

AT_MOST = 1.2
PART = 0.1
TIMED = ("seconds", "peak_megabytes")
SECONDS_BETWEEN_WRITES = 0.2
"""Of the run that is killed, so that it has written something whenever that happens, or is about to."""
BETTER = ("good", "fine", "great", "moving", "lovely", "bright", "funny", "clever", "warm", "rich")
WORSE = ("bad", "dull", "poor", "boring", "awful", "flat", "silly", "weak", "cold", "cheap")
THINGS = (
    *("film", "plot", "cast", "score", "scene", "story", "ending", "script", "idea", "song"),
    *("actor", "hero", "voice", "pace", "tone", "style", "joke", "dialogue", "camera", "picture"),
)
BEFORE, AFTER = ("", "a", "the", "this", "one"), ("", "again", "here", "now", "too")


def texts(count: int) -> Dataset:
    """Return distinct texts of 2 to 4 words, of which one is marked; short and long ones take turns."""
    records = []
    every = itertools.product(THINGS, (*BETTER, *WORSE), BEFORE, AFTER)
    for number, (thing, kind, before, after) in enumerate(itertools.islice(every, count)):
        text = " ".join(word for word in (before, kind, thing, after) if word)
        start = text.index(kind)
        label = "negative" if kind in WORSE else "positive"
        marked = {label: Rationale((Span(0, start, start + len(kind)),))}
        records.append(Record(f"t{number}", Text(text), (label,), marked))
    if len(records) < count:
        sys.exit(f"there are {len(records)} such texts, not {count}.")
    return Dataset("many", "test", ("negative", "positive"), tuple(records))


def work(folder: Path, count: int) -> None:
    """Evaluate so many texts into a folder, and write beside it when each was done in processor time."""
    torch.set_num_threads(1)
    classifier, data = wl.load(), texts(count)
    clock = [time.process_time()]
    peak = book.peak_megabytes

    def noting() -> float | None:
        clock.append(time.process_time())
        return peak()

    book.peak_megabytes = noting  # asked once per text
    wl.evaluate(
        classifier,
        data,
        methods=["occlusion", "input_x_gradient"],
        metrics=["aopc_comprehensiveness", "average_precision"],
        out=folder,
        progress=False,
    )
    folder.with_suffix(".json").write_text(json.dumps(clock), encoding="utf-8")


def growth(folder: Path, seconds: float) -> list[Result]:
    """Hold the last tenth of an undisturbed run against its first."""
    rows = list(rows_of(folder)[parts.COMMITS])
    size = max(1, round(PART * len(rows)))
    first, last = rows[:size], rows[-size:]
    memory = [own[-1]["peak_megabytes"] for own in (first, last)]
    moments = json.loads(folder.with_suffix(".json").read_text(encoding="utf-8"))
    cpu = [after - before for before, after in itertools.pairwise(moments)]
    each = {
        "seconds per text": [[row["seconds"] for row in own] for own in (first, last)],
        "processor seconds per text": [cpu[:size], cpu[-size:]],
    }
    sizes = ", ".join(f"{name} {_megabytes(folder / name):.1f}" for name in (*parts.SCHEMAS, parts.COMMITS))
    detail = f"{memory[0]:.0f} and {memory[1]:.0f} MB; files: {sizes} MB"
    found = [_grown("peak memory", memory[1] / memory[0], size, detail)]
    for name, (early, late) in each.items():
        detail = " and ".join(f"{1000 * fmean(o):.1f} ms (median {1000 * median(o):.1f})" for o in (early, late))
        found.append(_grown(name, fmean(late) / fmean(early), size, detail))
    commits = len(list((folder / parts.COMMITS).iterdir()))
    return [*found, Result("seconds in all", seconds, "-", met=True, detail=f"{len(rows)} texts, {commits} commits")]


def _grown(name: str, ratio: float, size: int, detail: str) -> Result:
    return Result(f"{name}: last / first {size}", ratio, f"<= {AT_MOST:g}", ratio <= AT_MOST, detail)


def killed(root: Path, whole: Path, *, count: int, kills: int, seconds: float) -> list[Result]:
    """Kill a run so many times, let it end, and compare its rows to those of an undisturbed one."""
    folder, draw = root / "killed", random.Random(0)  # noqa: S311  moments, not secrets
    moments: list[float] = []
    progress = []
    working = sum(row["seconds"] for row in rows_of(whole)[parts.COMMITS])
    starting = seconds - working
    while len(moments) < kills:
        moment = starting * draw.uniform(0.8, 1.0) + draw.uniform(0.0, 1.0) * working / kills
        if not _killed_after(moment, folder, count):
            break
        moments.append(moment)
        progress.append(sum(len(one.numbers) for one in runs.read(folder).commits or ()) if folder.exists() else 0)
    if _process(folder, count, every=SECONDS_BETWEEN_WRITES).wait():
        sys.exit("the last call of the killed run failed.")
    detail = f"{len(moments)} kills, done by then: {', '.join(map(str, progress))}"
    results = [Result("kills", len(moments), f"= {kills}", len(moments) == kills, detail)]
    for name, other in rows_of(folder).items():
        lost, doubled, others = differences(rows_of(whole)[name], other)
        detail = f"{len(other)} rows: {lost} lost, {doubled} doubled, {others} others or elsewhere"
        results.append(
            Result(f"differing rows of {name}", lost + doubled + others, "= 0", not lost + doubled + others, detail)
        )
    return results


def differences(right: Sequence[Row], found: Sequence[Row]) -> tuple[int, int, int]:
    """Count rows that are lost, doubled, and not what stands at their place."""
    expected, there = Counter(map(_key, right)), Counter(map(_key, found))
    pairs = itertools.zip_longest(map(_plain, right), map(_plain, found))
    return (expected - there).total(), (there - expected).total(), sum(one != other for one, other in pairs)


def rows_of(folder: Path) -> dict[str, parts.StoredRows]:
    """Return all tables of a run."""
    known = runs.read(folder).commits or ()
    return {name: parts.stored_rows(folder, known, name) for name in (*parts.SCHEMAS, parts.COMMITS)}


def _key(row: Row) -> tuple[object, ...]:
    return tuple(row.get(name) for name in ("example_id", "method", "target", "metric", "remover"))


def _plain(row: Row) -> str:
    return json.dumps({**row, **dict.fromkeys(TIMED)}, sort_keys=True)


def _killed_after(seconds: float, folder: Path, count: int) -> bool:
    process = _process(folder, count, every=SECONDS_BETWEEN_WRITES)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True
    return False


def _process(folder: Path, count: int, *, every: float) -> "subprocess.Popen[bytes]":
    command = [sys.executable, __file__, "--texts", str(count), "--work", str(folder), "--every", str(every)]
    return subprocess.Popen(command)  # noqa: S603  our own file


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.glob("*")) / 2**20


def _measured(count: int, kills: int) -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as name:
        root, begun = Path(name), time.perf_counter()
        if _process(root / "whole", count, every=book.WRITE_EVERY).wait():
            sys.exit("the undisturbed run failed.")
        seconds = time.perf_counter() - begun
        yield from growth(root / "whole", seconds)
        if kills:
            yield from killed(root, root / "whole", count=count, kills=kills, seconds=seconds)


def main() -> int:
    """Run, print one line per figure, and fail if a target is missed."""
    parser = argparse.ArgumentParser(description="Memory and time per text of a long run, and what kills do to it.")
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--every", type=float, default=book.WRITE_EVERY, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work is not None:
        book.WRITE_EVERY = given.every
        work(given.work, given.texts)
        return 0
    met = True
    for one in _measured(given.texts, given.kills):
        print(f"{one.name}: {one.value:.4g} ({one.target}, {'met' if one.met else 'MISSED'}); {one.detail}", flush=True)
        met = met and one.met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
