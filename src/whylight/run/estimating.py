"""What a run will take, before it is begun: `whylight run --dry-run`.

Up to 1,000 texts are drawn while the data is counted. Twenty of them, from the shortest to the longest, are worked on
as the run would, into a folder that is then removed: once each by itself, once all as one shard. Seconds and
evaluations are fitted to the length of a text (a + b L + c L^2, none of them below 0, weighted by the inverse of the
value, whose error grows with it), and averaged over the drawn lengths. Where a method takes several texts at once, two
such batches of texts drawn at random are worked on instead, and what they take goes by their length. Bytes of a shard
grow with the length of its texts from what a file takes that holds next to nothing.

Cost: one pass through the data, and some forty texts.
"""

import math
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
from whylight.explaining.explain import TOGETHER
from whylight.run.evaluate import identity_of, plan_of
from whylight.run.growing import MOST_TEXTS
from whylight.run.running import Asked, head_of
from whylight.run.shards import MOST_SIZE, Shard
from whylight.run.threads import in_one_thread
from whylight.run.worker import Job, Order, Worker
from whylight.views.classifier import Classifier

DRAWN, PROBED, FEWER = 1000, 20, 7
"""Texts whose lengths are drawn, and those that are worked on; every seventh of these alone, where batches are, too."""


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
        plan = plan_of(classifier, head, asked.question)
        identity = identity_of(classifier, plan, asked.data.described())
        worker = Worker(Job(opening, own.question, head, own.out, identity), classifier=classifier)
        worker.work(Order(Shard(10**6, (probes[0],))))  # what is done once, such as trials, is not counted
        at_once = any(one.spec.together for one in plan.methods)
        probed = _probed(worker, own.out, probes[:: FEWER if at_once else 1])
        both = _in_batches(worker, sample) if at_once else (probed.seconds, probed.evaluations)
    lengths = _sizes(sample)
    seconds, evaluations = (float(one(lengths).mean()) for one in both)
    workers, size = asked.where.workers, float(lengths.mean()) * texts
    shards = max(math.ceil(texts / (asked.shard or MOST_TEXTS)), size / MOST_SIZE)
    return Forecast(
        texts,
        seconds * texts / workers,
        round(probed.file * shards + probed.byte * size),
        round(evaluations * texts),
        peak_megabytes() or 0.0,
        workers,
        head.noun,
    )


Cost = Callable[[Floats], Floats]
"""From lengths of texts to what they take."""


@dataclass(frozen=True, slots=True)
class _Probed:
    """What texts take by themselves.

    Attributes:
        seconds: By their length.
        evaluations: Likewise.
        file: Bytes of the files of a shard that holds next to nothing.
        byte: Bytes by which they grow with each character.
    """

    seconds: Cost
    evaluations: Cost
    file: float
    byte: float


def _probed(worker: Worker, folder: Path, probes: list[Record]) -> _Probed:
    """Work on some texts, each by itself and then on all as one shard."""
    lengths, before = _sizes(probes), _size(folder)
    found = [_worked(worker, 2 * 10**6 + place, [record]) for place, record in enumerate(probes)]
    apart = _size(folder) - before
    worker.work(Order(Shard(3 * 10**6, tuple(probes))))
    together = _size(folder) - before - apart
    file = max(0.0, (apart - together) / (len(probes) - 1)) if len(probes) > 1 else 0.0
    seconds, evaluations = (fitted(lengths, np.asarray(one)) for one in zip(*found, strict=True))
    return _Probed(seconds, evaluations, file, max(0.0, together - file) / float(lengths.sum()))


def _in_batches(worker: Worker, sample: list[Record]) -> tuple[Cost, Cost]:
    """Work on random texts in the batches of a run; what they take then goes by their length."""
    some = random.Random(0).sample(sample, min(2 * TOGETHER, len(sample)))  # noqa: S311  a sample, no secret
    whole = float(_sizes(some).sum())
    seconds, evaluations = (one / whole for one in _worked(worker, 4 * 10**6, some))
    return (lambda lengths: seconds * lengths), (lambda lengths: evaluations * lengths)


def _worked(worker: Worker, place: int, records: list[Record]) -> tuple[float, float]:
    """Return the seconds and the evaluations of a shard."""
    began = time.perf_counter()
    receipt = worker.work(Order(Shard(place, tuple(records))))
    return time.perf_counter() - began, float(receipt.rows_run)


def _sizes(records: list[Record]) -> Floats:
    return np.asarray([record.example.size for record in records], dtype=np.float64)


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


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def fitted(lengths: Floats, values: Floats) -> Cost:
    """Fit values to lengths; return what follows for other lengths."""
    terms = np.stack([np.ones_like(lengths), lengths, lengths**2], axis=1)
    weights = 1 / np.sqrt(np.maximum(values, 1e-9))
    found, _ = nnls(terms * weights[:, None], values * weights)
    return lambda every: np.stack([np.ones_like(every), every, every**2], axis=1) @ found
