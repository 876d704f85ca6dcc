"""What a run will take, before it is begun: `whylight run --dry-run`.

Up to 1,000 texts are drawn while the data is counted. Twenty of them, from the shortest to the longest, are worked on
once, as the run would, into a folder that is then removed. Seconds and evaluations are fitted to the length of a text
(a + b L + c L^2, none of them below 0, weighted by the inverse of the value, whose error grows with it), and averaged
over the drawn lengths; bytes grow with the length.

Cost: one pass through the data, and twenty texts.
"""

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from whylight.core.arrays import Floats
from whylight.core.estimate import duration
from whylight.core.inputs import INPUTS, Noun
from whylight.core.memory import peak_megabytes, told
from whylight.data.dataset import Record
from whylight.run.evaluate import identity_of, plan_of
from whylight.run.running import Asked, head_of
from whylight.run.shards import Shard
from whylight.run.threads import in_one_thread
from whylight.run.worker import Job, Order, Worker
from whylight.views.classifier import Classifier

DRAWN, PROBED = 1000, 20
"""Texts whose lengths are drawn, and those that are worked on."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run will take.

    Attributes:
        texts: How many texts there are.
        seconds: Of all workers together, divided among them; loading the model aside.
        bytes: Of the folder.
        evaluations: Inputs that the model is given.
        megabytes: Memory of one worker.
        workers: How many workers.
        noun: What the inputs are called.
    """

    texts: int
    seconds: float
    bytes: int
    evaluations: int
    megabytes: float
    workers: int
    noun: Noun = INPUTS

    def __str__(self) -> str:
        """Say it in a sentence."""
        each = f"{self.workers} worker" + ("s" if self.workers > 1 else "")
        return (
            f"{self.noun.count(self.texts)}: {duration(self.seconds)} with {each}, {told(self.bytes)} of disk, "
            f"{self.evaluations:,} evaluations, {self.megabytes:,.0f} MB of memory for each worker"
        )


def forecast(opening: Callable[[], Classifier], asked: Asked) -> Forecast:
    """Say what a run will take.

    Args:
        opening: Loads the model.
        asked: What is asked.
    """
    sample, texts = drawn(asked.data.records(), DRAWN)
    probes = _spread(sample, PROBED)
    with tempfile.TemporaryDirectory(prefix="whylight-") as folder, in_one_thread():
        own = replace(asked, out=Path(folder))
        classifier = opening()
        head = head_of(asked.data, asked.data.records())
        identity = identity_of(classifier, plan_of(classifier, head, asked.question), asked.data.described())
        worker = Worker(Job(opening, own.question, head, own.out, identity), classifier=classifier)
        worker.work(Order(Shard(10**6, (probes[0],))))  # what is done once, such as trials, is not counted
        figures = [_probe(worker, place, record) for place, record in enumerate(probes)]
        size = _together(worker, own.out, probes)
    lengths = np.asarray([record.example.size for record in sample], dtype=np.float64)
    own_lengths = np.asarray([record.example.size for record in probes], dtype=np.float64)
    seconds, evaluations = (fitted(own_lengths, np.asarray(one), lengths) for one in zip(*figures, strict=True))
    workers = asked.where.workers
    on_disk = size / own_lengths.sum() * lengths.mean() * texts
    return Forecast(
        texts,
        seconds * texts / workers,
        round(on_disk),
        round(evaluations * texts),
        peak_megabytes() or 0.0,
        workers,
        head.noun,
    )


def drawn(records: Iterator[Record], most: int) -> tuple[list[Record], int]:
    """Draw so many records at random from a stream, and count all."""
    draw, kept, texts = random.Random(0), list[Record](), 0  # noqa: S311  a sample, no secret
    for texts, record in enumerate(records, start=1):
        if len(kept) < most:
            kept.append(record)
        elif (place := draw.randrange(texts)) < most:
            kept[place] = record
    return kept, texts


def _spread(sample: list[Record], count: int) -> list[Record]:
    """Return some records from the shortest to the longest."""
    ordered = sorted(sample, key=lambda record: record.example.size)
    places = np.unique(np.linspace(0, len(ordered) - 1, count).round().astype(int))
    return [ordered[place] for place in places]


def _probe(worker: Worker, place: int, record: Record) -> tuple[float, float]:
    began = time.perf_counter()
    receipt = worker.work(Order(Shard(2 * 10**6 + place, (record,))))
    return time.perf_counter() - began, float(receipt.rows_run)


def _together(worker: Worker, folder: Path, probes: list[Record]) -> int:
    """Return how many bytes the files of all probes in one shard take."""
    before = _size(folder)
    worker.work(Order(Shard(3 * 10**6, tuple(probes))))
    return _size(folder) - before


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def fitted(lengths: Floats, values: Floats, every: Floats) -> float:
    """Fit values to lengths, and return their mean over other lengths."""
    terms = np.stack([np.ones_like(lengths), lengths, lengths**2], axis=1)
    weights = 1 / np.sqrt(np.maximum(values, 1e-9))
    found, _ = nnls(terms * weights[:, None], values * weights)
    return float((np.stack([np.ones_like(every), every, every**2], axis=1) @ found).mean())
