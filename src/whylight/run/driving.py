"""Driving a run: shards are cut from the data as it comes, and each free worker gets the next one.

The driver reads the data, counts what came back, and writes what is not a worker's: the manifest, which texts processes
died of, and in the end `_SUCCESS`. It holds the shards that are being worked on and no others, so that its memory does
not depend on how many texts there are.

Who dies leaves its shard to another worker, which goes on from what was written. A text that three workers died of is
set aside: it is written down as failed. Deaths of the driver, of a machine, or before the model was loaded count for
none.
"""

import json
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from whylight.core.errors import InputError, ModelError
from whylight.run import notes
from whylight.run.engines.engine import Engine, Event
from whylight.run.notes import Noted
from whylight.run.shards import Shard
from whylight.run.worker import Order, Receipt
from whylight.store import files, parts

MOST_DEATHS = 3
"""Deaths of workers after which a text is set aside, or a run that cannot begin is given up."""
LOOK_EVERY = 1.0
"""Seconds between two looks at how far the workers have come."""
ATTEMPTS = "attempts.json"


@dataclass(slots=True)
class Count:
    """How far a run has come.

    Attributes:
        texts: Texts that are done.
        new: Those that this call has done.
        failed: Those that have failed.
        shards: Shards that are done.
        deaths: Workers that have died.
        rows_run: Inputs that the model was given by this call.
        peak_megabytes: The most memory that a worker had.
        began: When it began.
        ready: When the first worker had a model; None if none has one yet.
    """

    texts: int = 0
    new: int = 0
    failed: int = 0
    shards: int = 0
    deaths: int = 0
    rows_run: int = 0
    peak_megabytes: float = 0.0
    began: float = field(default_factory=time.monotonic)
    ready: float | None = None

    def add(self, receipt: Receipt) -> None:
        """Count a shard that is done."""
        self.texts += receipt.texts
        self.new += receipt.new
        self.failed += receipt.failed
        self.rows_run += receipt.rows_run
        self.shards += 1
        self.peak_megabytes = max(self.peak_megabytes, receipt.peak_megabytes or 0.0)

    def add_noted(self, first: int, noted: Noted) -> None:
        """Count what is done of a shard that begins with this text."""
        self.texts += noted.begun.start - first
        self.new += noted.new
        self.failed += noted.failed

    @property
    def rate(self) -> float:
        """Texts per second, since the first worker had a model."""
        return 0.0 if self.ready is None else self.new / max(time.monotonic() - self.ready, 1e-9)

    @property
    def seconds(self) -> float:
        """What this call has taken."""
        return time.monotonic() - self.began


@dataclass(slots=True)
class Driver:
    """Whoever hands out shards.

    Attributes:
        folder: Where results go; claimed by the caller.
        engine: The workers.
        workers: How many.
        retry: Whether texts that failed are worked on again.
        told: Is called every second, in a thread of its own.
    """

    folder: Path
    engine: Engine
    workers: int
    retry: bool = False
    told: Callable[[Count], None] = lambda _: None
    _count: Count = field(default_factory=Count)
    _again: deque[Shard] = field(default_factory=deque)
    _busy: dict[Hashable, Shard] = field(default_factory=dict)
    _free: list[Hashable] = field(default_factory=list)
    _starting: set[Hashable] = field(default_factory=set)
    _deaths: Counter[int] = field(default_factory=Counter)
    _unborn: int = 0
    _stems: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def drive(self, shards: Iterable[Shard]) -> Count:
        """Have all shards worked on.

        Raises:
            WhylightError: What a worker could not go on after: the folder cannot be written in, or is of other data.
        """
        notes.forget_all(self.folder)
        self._deaths = _read_deaths(self.folder)
        self._stems = _stems_by_place(self.folder)
        coming, kindly = iter(shards), True
        try:
            with _every(LOOK_EVERY, lambda: self.told(self.so_far())):
                self._starting = set(self.engine.start(self.workers))
                while self._has_more(coming) or self._busy:
                    self._hand_out(coming)
                    for event in self.engine.wait([*self._busy, *self._starting], seconds=LOOK_EVERY):
                        self._heard(event)
            kindly = False
        finally:
            self.engine.stop(kindly=kindly)
            with suppress(InputError):  # whatever ended the run is what is said
                notes.forget_all(self.folder)
        _clean(self.folder)
        return self._count

    def so_far(self) -> Count:
        """Count what is done, also of the shards that are worked on."""
        with self._lock:
            count = replace(self._count)
            for first in (shard.first for shard in self._busy.values()):
                noted = notes.read(self.folder, first)
                if noted is not None:
                    count.add_noted(first, noted)
        return count

    def _has_more(self, coming: Iterator[Shard]) -> bool:
        """Say whether a shard is left, of which one is read ahead."""
        if not self._again:
            self._again.extend(islice(coming, 1))
        return bool(self._again)

    def _hand_out(self, coming: Iterator[Shard]) -> None:
        """Give free workers a shard each."""
        while self._free and self._has_more(coming):
            worker, shard = self._free.pop(), self._again.popleft()
            with self._lock:
                self._busy[worker] = shard
            self.engine.send(worker, self._order(shard))

    def _order(self, shard: Shard) -> Order:
        many = f"{MOST_DEATHS} processes died while they worked on it"
        aside = {number: many for number in shard.numbers if self._deaths[number] >= MOST_DEATHS}
        own = [stem for place in shard.numbers for stem in self._stems.get(place, ())]
        return Order(shard, tuple(own), self.retry, aside)

    def _heard(self, event: Event) -> None:
        """Take in what became of a worker."""
        if event.error is not None:
            raise event.error
        if event.ready:
            self._count.ready = self._count.ready or time.monotonic()
            self._starting.discard(event.worker)
            self._free.append(event.worker)
        elif event.receipt is not None:
            self._unborn = 0
            with self._lock:
                notes.forget(self.folder, self._busy.pop(event.worker).first)
                self._count.add(event.receipt)
            self._free.append(event.worker)
        else:
            self._mourn(event)
            self._starting.update(self.engine.start(1))

    def _mourn(self, event: Event) -> None:
        """Count a death, and have its shard worked on again."""
        self._count.deaths += 1
        self._starting.discard(event.worker)
        self._unborn = 0 if event.started else self._unborn + 1
        if self._unborn >= MOST_DEATHS:
            raise ModelError(f"{MOST_DEATHS} workers died before the model was loaded; try it in one process: wl.load.")
        with self._lock:
            shard = self._busy.pop(event.worker, None)
        if shard is None:
            return
        noted = notes.read(self.folder, shard.first)
        notes.forget(self.folder, shard.first)
        if noted is not None and not event.of_node:
            self._deaths.update(number for number in noted.begun if number in shard.numbers)
            _write_deaths(self.folder, self._deaths)
        # what the dead one had written of the shard is gone on with
        there = _stems_by_place(self.folder)
        self._stems = {**self._stems, **{number: there.get(number, ()) for number in shard.numbers}}
        self._again.append(shard)


def _stems_by_place(folder: Path) -> dict[int, tuple[str, ...]]:
    """Return the names of commits by the text that they begin with."""
    found: dict[int, tuple[str, ...]] = {}
    for stem in parts.stems_in(folder):
        first = parts.first_of(stem)
        found[first] = (*found.get(first, ()), stem)
    return found


def _read_deaths(folder: Path) -> Counter[int]:
    path = folder / ATTEMPTS
    with files.said(path, doing="read"):
        content = path.read_bytes() if path.exists() else b"{}"
    try:
        return Counter({int(number): int(count) for number, count in json.loads(content).items()})
    except (ValueError, AttributeError, TypeError):
        return Counter()


def _write_deaths(folder: Path, deaths: Counter[int]) -> None:
    files.write(folder / ATTEMPTS, json.dumps({str(number): count for number, count in deaths.items()}).encode())


@contextmanager
def _every(seconds: float, call: Callable[[], None]) -> Iterator[None]:
    """Call something every so often inside the block, in a thread of its own: the work may be in this one."""
    ended = threading.Event()

    def loop() -> None:
        while not ended.wait(seconds):
            call()

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _clean(folder: Path) -> None:
    """Remove what only a run that goes on needs."""
    notes.forget_all(folder)
    with files.said(folder / ATTEMPTS):
        (folder / ATTEMPTS).unlink(missing_ok=True)
