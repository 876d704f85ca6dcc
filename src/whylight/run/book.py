"""The book of a run: what each text gave, in memory or, where there is a folder, in parts on disk.

With a folder, texts wait in memory until some seconds have passed, or so many of them or of their bytes have gathered;
then they are written and forgotten. Nothing that is written is written again, so that memory and time per text do not
depend on how many texts there are.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from whylight.core.errors import InputError
from whylight.core.identity import Identity
from whylight.core.memory import peak_megabytes
from whylight.data.dataset import Dataset, Record
from whylight.run.evaluation import Evaluation
from whylight.run.one import Done
from whylight.store import files, parts, runs
from whylight.store.parts import Commit, Page
from whylight.store.tables import Row

WRITE_EVERY = 20.0
"""Seconds between two writes."""
MOST_TEXTS, MOST_BYTES = 1000, 32 * 2**20
"""What may wait to be written."""


@dataclass(slots=True)
class Book:
    """What the texts of a run gave.

    Attributes:
        folder: Where it is written; None keeps all of it in memory.
        identity: Whose run it is.
        commits: What is written.
        waiting: What is not written yet, in the order of the data.
        bytes_waiting: What that takes.
        rows: Without a folder: the rows of each table.
        rows_run: Without a folder: inputs that the model was given.
        began: When the work began.
        last: When the last text was done.
        written: When something was last written.
    """

    folder: Path | None
    identity: Identity
    commits: list[Commit] = field(default_factory=list)
    waiting: list[Page] = field(default_factory=list)
    bytes_waiting: int = 0
    rows: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in parts.SCHEMAS})
    rows_run: int = 0
    began: float = field(default_factory=time.monotonic)
    last: float = field(default_factory=time.monotonic)
    written: float = field(default_factory=time.monotonic)

    @property
    def run(self) -> str:
        """The name of the run."""
        return self.identity.name

    @property
    def tuning(self) -> Sequence[Row]:
        """Explanations of the tuning texts."""
        self.write()
        return self._table("tuning")

    def missing(self, data: Dataset, *, tuning: bool = False) -> list[tuple[int, Record]]:
        """Return the texts that are not done yet, with their places in the data."""
        done = {number for one in self.commits if one.tuning is tuning for number in one.numbers}
        return [(number, record) for number, record in enumerate(data) if number not in done]

    def add(self, number: int, record: Record, done: Done, *, tuning: bool = False) -> None:
        """Keep what one text gave.

        Args:
            number: Its place in the data.
            record: The text.
            done: What it gave.
            tuning: Whether it is one that boundaries are tuned on; only explanations of these are kept.
        """
        tables = {"explanations": done.explanations, "scores": done.scores, "curves": done.curves}
        tables = {"tuning": done.explanations} if tuning else tables
        if self.folder is None:
            self.rows_run += done.rows_run
            for name, own in tables.items():
                self.rows[name] += own
            return
        now = time.monotonic()
        text: Row = {"run": self.run, "number": number, "example_id": record.id, "tuning": tuning}
        text |= {"rows_run": done.rows_run, "seconds": now - self.last, "peak_megabytes": peak_megabytes()}
        self.last = now
        self._wait(parts.page_of(text, tables))

    def _wait(self, page: Page) -> None:
        if self.waiting and not page.follows(self.waiting[-1]):
            self.write()
        self.waiting.append(page)
        self.bytes_waiting += page.nbytes
        full = len(self.waiting) >= MOST_TEXTS or self.bytes_waiting >= MOST_BYTES
        if full or time.monotonic() - self.written > WRITE_EVERY:
            self.write()

    def write(self) -> None:
        """Write what is waiting, and forget it; interrupted in between, it is written again under the same name."""
        if self.folder is not None and self.waiting:
            self.commits.append(parts.write_parts(self.folder, self.waiting))
            self.waiting, self.bytes_waiting = [], 0
        self.written = time.monotonic()

    def evaluation(self) -> Evaluation:
        """Return all rows as a result; those of a folder are read when they are asked for."""
        explanations, scores, curves, tuning = (self._table(name) for name in parts.SCHEMAS)
        rows_run, seconds, peak = self.rows_run, time.monotonic() - self.began, peak_megabytes()
        if self.folder is not None:
            about = runs.about_of(self.run, None, self.commits)
            rows_run, seconds, peak = about.rows_run, about.seconds, about.peak_megabytes
        return Evaluation(
            explanations,
            scores,
            curves,
            tuning,
            rows_run=rows_run,
            seconds=seconds,
            peak_megabytes=peak,
            asked=self.identity.asked,
        )

    def _table(self, name: str) -> Sequence[Row]:
        if self.folder is None:
            return self.rows[name]
        return parts.stored_rows(self.folder, sorted(self.commits, key=lambda one: one.stem), name)


@contextmanager
def opened(folder: Path | None, identity: Identity, data: Dataset, tune: Dataset | None) -> Iterator[Book]:
    """Start a run, or go on with one of the same question; whatever ends the block, what was done is written."""
    for own in (data, *([] if tune is None else [tune])):
        _check_ids(own)
    if folder is None:
        yield Book(folder, identity)
        return
    with files.claimed(folder):
        book = Book(folder, identity, _taken_up(folder, identity))
        try:
            yield book
        except KeyboardInterrupt:
            book.write()
            raise KeyboardInterrupt(f"what was done is in '{folder}', and the same call resumes from there") from None
        except Exception:
            with suppress(InputError):  # the disk is full, which may be what ended the block
                book.write()
            raise
        book.write()


def _check_ids(data: Dataset) -> None:
    twice = [name for name, count in Counter(record.id for record in data).items() if count > 1]
    if twice:
        raise InputError(f"two records of '{data.name}' ({data.split}) have the id '{twice[0]}'; make ids unique.")


def _taken_up(folder: Path, identity: Identity) -> list[Commit]:
    """Return what an earlier call has done, and remove what it left undone; another run's folder is refused."""
    stored = runs.read(folder)
    if stored.runs - {identity.name}:
        raise identity.refusal(folder, None if stored.about is None else stored.about.asked, kind="run")
    if stored.commits is None:
        raise InputError(
            f"'{folder}' holds a run in the form of an earlier version, which is read (`whylight report`, "
            "`whylight compare`) but not continued; name another folder."
        )
    parts.check_parts(folder, stored.commits)
    parts.tidy(folder, stored.commits)
    if stored.about is None:  # before the work, so that a folder that cannot be written in is known at once
        runs.write_manifest(folder, identity.name, identity.asked)
    return list(stored.commits)
