"""Corpus runs at full size: `python benchmarks/scale.py --data DIR --out DIR [PART ...]`; not part of `make bench`.

    sst       10,000 sentences by three methods, two workers: time, memory of driver and workers in the last tenth of
              the time / in the first
    kills     the same run, killed 20 times at random moments: every file has the bytes of the undisturbed one
    imdb      1,000 reviews, the same
    rows      1,000,000 rows of a trivial callable: memory, files
    overhead  one worker against a bare loop of `wl.explain` over the same texts
    workers   two workers (local, Ray) against two bare processes, and against one worker
    nodes     two Ray nodes, one of them removed ungracefully in the middle: every file has the same bytes
    forecast  what `--dry-run` says against what the run of one worker took

What is done stands in OUT, with its figures in `figures.json`: the same command goes on after it was stopped, and makes
no part twice; what is timed begins anew. `--texts 60 --sentences 60 --reviews 4 --rows 5000 --kills 3` tries it out.
"""

import argparse
import gzip
import json
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import scale_watch
from clock import Result
from scale_watch import METHODS, Memory, bare, command, corpora, flat, on_disk, parts_of, trivial

import whylight as wl
from whylight.data.stream import stream
from whylight.engines.where import Where
from whylight.models.load import load
from whylight.run.estimating import forecast
from whylight.run.evaluate import Question
from whylight.run.running import Asked

OVERHEAD, SHARE, SPEEDUP, FORECAST = 1.05, 0.9, 1.6, 0.25
SMALL = 64
"""Texts of a shard where workers are timed: the last one should not be waited for."""


class Shows:
    """The parts, and what they have in common: folders, data, figures."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.out = given, Path(given.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self._figures = self.out / "figures.json"
        self.figures: dict[str, Any] = json.loads(self._figures.read_text()) if self._figures.exists() else {}

    def once(self, name: str, measure: Callable[[], Any]) -> Any:  # noqa: ANN401  numbers, or several
        """Return a figure; it is measured if it was not before."""
        if name not in self.figures:
            print(f"... {name}", file=sys.stderr, flush=True)
            self.figures[name] = measure()
            beside = self._figures.with_suffix(".new")
            beside.write_text(json.dumps(self.figures, indent=1))
            beside.replace(self._figures)
        return self.figures[name]

    def data(self, name: str, texts: Callable[[], list[str]]) -> Path:
        """Return a file of texts, which is written if it is not there."""
        path = self.out / f"{name}.jsonl"
        if not path.exists():
            beside = path.with_suffix(".new")
            beside.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts()), encoding="utf-8")
            beside.replace(path)
        return path

    def sentences(self, count: int) -> list[str]:
        """Return so many sentences of SST."""
        splits = ("train", "dev", "test")
        every = [
            one.example.key for split in splits for one in wl.dataset(f"sst:{self.given.data}/sst_trees", split=split)
        ]
        return random.Random(0).sample(every, count)  # noqa: S311  sentences, not secrets

    def reviews(self, count: int) -> list[str]:
        """Return so many reviews of IMDB."""
        with gzip.open(f"{self.given.data}/imdb/test_5000.jsonl.gz", "rt", encoding="utf-8") as file:
            return [json.loads(line)["text"] for _, line in zip(range(count), file, strict=False)]

    def timed(self, data: Path, name: str, *more: str) -> tuple[float, float]:
        """Run anew; return the seconds before the first text, and those of the work."""
        shutil.rmtree(self.out / name, ignore_errors=True)
        return corpora.undisturbed([*command(data), "--shard", str(SMALL), *more], self.out / name)

    def sst(self) -> Iterator[Result]:
        """Explain many sentences."""
        data = self.data("sst", lambda: self.sentences(self.given.sentences))
        yield from self._watched("sst", data)

    def imdb(self) -> Iterator[Result]:
        """Explain some reviews."""
        yield from self._watched("imdb", self.data("imdb", lambda: self.reviews(self.given.reviews)))

    def _watched(self, name: str, data: Path) -> Iterator[Result]:
        def measure() -> dict[str, Any]:
            with corpora.started([*command(data), "--workers", "2"], self.out / name) as run, Memory(run.pid) as memory:
                if run.wait():
                    raise RuntimeError(f"it ended with {run.returncode}")
            return {"seconds": memory.seconds, **memory.tenths()}

        found = self.once(name, measure)
        size, files = on_disk(self.out / name)
        yield Result(
            f"{name}: seconds", found["seconds"], "-", met=True, detail=f"{files:,} files, {size / 2**20:.1f} MB"
        )
        yield from flat(name, found)

    def kills(self) -> Iterator[Result]:
        """Kill the run of many sentences again and again."""
        data = self.data("sst", lambda: self.sentences(self.given.sentences))
        list(self.sst())
        right, moments = corpora.sums(self.out / "sst"), self.given.kills
        shards = len([name for name in right if name.startswith("texts/")])

        def measure() -> dict[str, Any]:
            draw = random.Random(1)  # noqa: S311  moments, not secrets
            each = [corpora.Moment(draw.randrange(1 + shards // moments), draw.uniform(0, 30)) for _ in range(moments)]
            victim = corpora.Victim([*command(data), "--workers", "2"], self.out / "killed", draw)
            shutil.rmtree(victim.out, ignore_errors=True)
            return {"broken": list(corpora.disturbed(victim, right, each)), "hits": dict(victim.hits)}

        found = self.once("kills", measure)
        hits = ", ".join(f"{count} {name}" for name, count in found["hits"].items())
        detail = "; ".join([f"kills: {hits}", *found["broken"]])
        yield Result("kills: runs that differ", len(found["broken"]), "0", not found["broken"], detail)

    def rows(self) -> Iterator[Result]:
        """Work on very many rows of a trivial callable."""
        path, many = self.out / "rows.jsonl", self.given.rows
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps({"text": f"row {number} of many"}) + "\n" for number in range(many))
        given: dict[str, Any] = {"labels": ["no", "yes"], "identity": "trivial"}

        def measure() -> dict[str, Any]:
            with Memory(os.getpid()) as memory:
                found = wl.run_corpus(trivial, path, methods=["random"], out=self.out / "rows", load=given)
            return {"seconds": memory.seconds, "new": found.new, "texts": found.texts, **memory.tenths()}

        found = self.once("rows", measure)
        size, files = on_disk(self.out / "rows")
        detail = f"{found['texts']:,} rows, {files:,} files, {size / 2**20:.0f} MB, {found['seconds']:.0f} s"
        yield Result(
            "rows: per second", found["new"] / found["seconds"], "-", met=found["texts"] == many, detail=detail
        )
        yield from flat("rows", found)

    def overhead(self) -> Iterator[Result]:
        """Hold one worker against a bare loop."""
        data, texts = self._texts()
        loop, run = self.once("bare: one", lambda: bare(texts, 1)), self._one(data)
        detail = f"{run:.1f} and {loop:.1f} s, {len(texts)} texts"
        yield Result("overhead: run / bare loop", run / loop, f"<= {OVERHEAD}", run <= OVERHEAD * loop, detail)

    def workers(self) -> Iterator[Result]:
        """Hold two workers against two bare processes, and against one worker."""
        data, texts = self._texts()
        two, one = self.once("bare: two", lambda: bare(texts, 2)), self._one(data)
        for engine in ("local", "ray"):
            asked = ("--workers", "2", "--engine", engine)
            took = self.once(f"run: two {engine}", partial(self.timed, data, f"two-{engine}", *asked))[1]
            detail = f"{took:.1f} s; {two:.1f} s bare, {one:.1f} s by one"
            yield Result(
                f"{engine}: share of two bare processes", two / took, f">= {SHARE}", two >= SHARE * took, detail
            )
            yield Result(f"{engine}: two against one", one / took, f">= {SPEEDUP}", one >= SPEEDUP * took, detail)
        same = (
            corpora.sums(self.out / "two-local") == corpora.sums(self.out / "two-ray") == corpora.sums(self.out / "one")
        )
        yield Result("workers: the same bytes", float(same), "1", same)

    def nodes(self) -> Iterator[Result]:
        """Lose one of two nodes of a Ray cluster in the middle of a run."""
        data, _ = self._texts()
        self._one(data)
        found = self.once("nodes", partial(scale_watch.losing_a_node, data, self.out / "nodes", SMALL))
        others = corpora.differences(parts_of(self.out / "one"), parts_of(self.out / "nodes"))
        detail = f"{found['deaths']} workers died, {found['failed']} texts failed, {found['seconds']:.0f} s"
        yield Result("nodes: files that differ", len(others), "0", not others and not found["failed"], detail)

    def forecast(self) -> Iterator[Result]:
        """Hold what is said beforehand against what comes."""
        data, _ = self._texts()
        question = Question(methods=METHODS, metrics=[], baseline=False)
        asked = Asked(question, stream(data, unlabelled=True), self.out / "said", Where(), shard=SMALL)
        said = self.once("forecast", lambda: [(found := forecast(partial(load, None), asked)).seconds, found.bytes])
        took, size = self._one(data), on_disk(self.out / "one")[0]
        off = abs(said[0] / took - 1)
        detail = f"{said[0]:.1f}, {took:.1f} s; {said[1]:,}, {size:,} bytes"
        yield Result("forecast: off by", off, f"<= {FORECAST}", off <= FORECAST, detail)

    def _texts(self) -> tuple[Path, list[str]]:
        data = self.data("some", lambda: self.sentences(self.given.texts))
        return data, [json.loads(line)["text"] for line in data.read_text(encoding="utf-8").splitlines()]

    def _one(self, data: Path) -> float:
        return float(self.once("run: one", lambda: self.timed(data, "one", "--workers", "1"))[1])


def main() -> int:
    """Run, print one line per figure, and fail if a target is missed."""
    names = ("sst", "kills", "imdb", "rows", "overhead", "workers", "nodes", "forecast")
    parser = argparse.ArgumentParser(description="Corpus runs at full size.")
    parser.add_argument("parts", nargs="*", choices=[*names, []], default=[])
    parser.add_argument("--data", required=True, help="Folder with sst_trees and imdb.")
    parser.add_argument("--out", required=True, help="Folder for runs and figures.")
    for name, usual in (
        ("sentences", 10_000),
        ("reviews", 1_000),
        ("rows", 1_000_000),
        ("texts", 2_000),
        ("kills", 20),
    ):
        parser.add_argument(f"--{name}", type=int, default=usual)
    shows, met = Shows(given := parser.parse_args()), True
    for name in given.parts or names:
        for one in getattr(shows, name)():
            state = "met" if one.met else "MISSED"
            print(f"{one.name}: {one.value:.4g} ({one.target}, {state}); {one.detail}", flush=True)
            met = met and one.met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
