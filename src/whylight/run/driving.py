"""Driving a run: shards are cut from the data as it comes, and each free worker gets the next one.

The driver reads the data, counts what came back, and writes down which texts processes died of. It holds the shards
that are being worked on, the next one, and no others, so that its memory does not depend on how many texts there are.

Who dies leaves its shard to another worker, which goes on from what was written. A text that three workers died of is
set aside: it is written down as failed. Of texts that were worked on at once nobody knows which one it was: after three
deaths they are worked on alone, and what they die of then counts. Deaths of the driver, of a machine, or before the
model was loaded count for none.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from whylight.core.errors import InputError
from whylight.engines.crew import MOST_DEATHS, Crew
from whylight.engines.engine import Died, Engine
from whylight.run import notes
from whylight.run.notes import Noted
from whylight.run.shards import Shard
from whylight.run.worker import Order, Receipt
from whylight.store import files, parts

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
class Deaths:
    """Which texts processes died of.

    Attributes:
        alone: Deaths of each text that was worked on by itself.
        together: Deaths of texts that were worked on at once, by each of them.
    """

    alone: Counter[int] = field(default_factory=Counter)
    together: Counter[int] = field(default_factory=Counter)

    def add(self, numbers: Sequence[int]) -> None:
        """Count a death of some texts."""
        (self.together if len(numbers) > 1 else self.alone).update(numbers)

    @classmethod
    def read(cls, folder: Path) -> "Deaths":
        """Read what earlier calls have counted."""
        path = folder / ATTEMPTS
        with files.said(path, doing="read"):
            content = path.read_bytes() if path.exists() else b"{}"
        try:
            found = json.loads(content)
            counts = (found.get(name, {}).items() for name in ("alone", "together"))
            return cls(*(Counter({int(number): int(count) for number, count in own}) for own in counts))
        except (ValueError, AttributeError, TypeError):
            return cls()

    def write(self, folder: Path) -> None:
        """Write it down, for a driver that comes after this one."""
        files.write(folder / ATTEMPTS, json.dumps({"alone": self.alone, "together": self.together}).encode())


@dataclass(slots=True)
class Driver:
    """Whoever hands out shards.

    Attributes:
        folder: Where results go; claimed by the caller.
        retry: Whether texts that failed are worked on again.
        told: Is called every second, in a thread of its own.
    """

    folder: Path
    retry: bool = False
    told: Callable[[Count], None] = lambda _: None
    _count: Count = field(default_factory=Count)
    _begun: set[int] = field(default_factory=set)
    _deaths: Deaths = field(default_factory=Deaths)
    _stems: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def drive(self, shards: Iterable[Shard], engine: Engine, *, workers: int) -> Count:
        """Have all shards worked on.

        Raises:
            WhylightError: What a worker could not go on after: the folder cannot be written in, or is of other data.
        """
        notes.forget_all(self.folder)
        self._deaths = Deaths() if self.retry else Deaths.read(self.folder)
        self._stems = _stems_by_place(self.folder)
        try:
            with _every(LOOK_EVERY, lambda: self.told(self.so_far())), Crew(engine, workers) as crew:
                crew.do(shards, self)
        finally:
            with suppress(InputError):  # whatever ended the run is what is said
                notes.forget_all(self.folder)
        _clean(self.folder)
        return self._count

    def so_far(self) -> Count:
        """Count what is done, also of the shards that are worked on."""
        with self._lock:
            count = replace(self._count)
            for first in self._begun:
                noted = notes.read(self.folder, first)
                if noted is not None:
                    count.add_noted(first, noted)
        return count

    def order(self, task: Shard) -> Order:
        """Return what a worker has to know of a shard."""
        with self._lock:
            self._begun.add(task.first)
        many = f"{MOST_DEATHS} processes died while they worked on it"
        aside = {number: many for number in task.numbers if self._deaths.alone[number] >= MOST_DEATHS}
        alone = frozenset(number for number in task.numbers if self._deaths.together[number] >= MOST_DEATHS)
        own = [stem for place in task.numbers for stem in self._stems.get(place, ())]
        return Order(task, tuple(own), self.retry, aside, alone)

    def ready(self) -> None:
        """Begin to count the time."""
        self._count.ready = self._count.ready or time.monotonic()

    def done(self, task: Shard, receipt: Receipt) -> None:
        """Count a shard."""
        with self._lock:
            self._begun.discard(task.first)
            notes.forget(self.folder, task.first)
            self._count.add(receipt)

    def died(self, task: Shard | None, death: Died) -> None:
        """Count a death, and whom a worker died of."""
        self._count.deaths += 1
        if task is None:
            return
        with self._lock:
            self._begun.discard(task.first)
            noted = notes.read(self.folder, task.first)
            notes.forget(self.folder, task.first)
        if noted is not None and not death.of_node:
            self._deaths.add([number for number in noted.begun if number in task.numbers])
            self._deaths.write(self.folder)
        # what the dead one had written of the shard is gone on with
        there = _stems_by_place(self.folder)
        self._stems = {**self._stems, **{number: there.get(number, ()) for number in task.numbers}}

    def looked(self) -> None:
        """Nothing is to be done: a thread tells how far the run has come."""


def _stems_by_place(folder: Path) -> dict[int, tuple[str, ...]]:
    """Return the names of commits by the text that they begin with."""
    found: dict[int, tuple[str, ...]] = {}
    for stem in parts.stems_in(folder):
        first = parts.first_of(stem)
        found[first] = (*found.get(first, ()), stem)
    return found


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
