"""The book of a run: what each text gave, in memory or, where there is a folder, in parts on disk.

With a folder, texts wait in memory until some seconds have passed, or so many of them or of their bytes have gathered;
then they are written and forgotten. Nothing that is written is written again, so that memory and time per text do not
depend on how many texts there are.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from whylight.core.errors import InputError
from whylight.core.identity import Identity
from whylight.core.memory import peak_megabytes
from whylight.data.dataset import Dataset, Record
from whylight.run.evaluation import Evaluation
from whylight.run.growing import taken_up
from whylight.run.measuring import Done
from whylight.store import columns, files, parts, runs
from whylight.store.columns import NOTHING, Cells, Columns, in_order
from whylight.store.commits import Commit, held
from whylight.store.parts import Page
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
        columns: What is asked for, in the order of tables.
        tuned: Whether boundaries are tuned.
        run: What the folder calls its run, which may be asked for more than this one.
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
    columns: Columns
    tuned: bool
    run: str
    commits: list[Commit] = field(default_factory=list)
    waiting: list[Page] = field(default_factory=list)
    bytes_waiting: int = 0
    rows: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in parts.SCHEMAS})
    rows_run: int = 0
    began: float = field(default_factory=time.monotonic)
    last: float = field(default_factory=time.monotonic)
    written: float = field(default_factory=time.monotonic)

    @property
    def tuning(self) -> Sequence[Row]:
        """Explanations of the tuning texts."""
        self.write()
        return self._table("tuning")

    def missing(self, data: Dataset, asked: Cells, *, tuning: bool = False) -> dict[int, Cells]:
        """Return the cells that texts lack of those that are asked for, by their places in the data."""
        known = held(self.commits, tuning=tuning)
        lacking = ((number, _without(asked, known.get(number) or NOTHING)) for number in range(len(data)))
        return {number: cells for number, cells in lacking if cells}

    def recalling(self, missing: Collection[int], *, tuning: bool = False) -> Callable[[int], list[Row]]:
        """Return what gives the rows of explanations that a text has; texts are asked for in the order of the data."""
        if self.folder is None:
            return lambda _: []
        known = held(self.commits, tuning=tuning)
        partly = {number for number in missing if known.get(number)}
        rows = parts.stored_rows(self.folder, self.commits, "tuning" if tuning else "explanations").texts(partly)
        return lambda number: next((own for place, own in rows if place == number), []) if number in partly else []

    def add(self, number: int, record: Record, done: Done, *, holds: Cells, tuning: bool = False) -> None:
        """Keep what one text gave.

        Args:
            number: Its place in the data.
            record: The text.
            done: What it gave.
            holds: The cells that this fills.
            tuning: Whether it is one that boundaries are tuned on; only explanations of these are kept.
        """
        tables = {"explanations": done.explanations, "scores": done.scores, "curves": done.curves}
        tables = {"tuning": done.explanations} if tuning else tables
        ranks = self.columns.ranks()
        tables = {name: in_order(name, own, ranks) for name, own in tables.items()}
        if self.folder is None:
            self.rows_run += done.rows_run
            for name, own in tables.items():
                self.rows[name] += own
            return
        now = time.monotonic()
        text: Row = {"run": self.run, "number": number, "example_id": record.id, "tuning": tuning}
        text |= {"rows_run": done.rows_run, "seconds": now - self.last, "peak_megabytes": peak_megabytes()}
        self.last = now
        self._wait(parts.page_of({**text, "holds": columns.written(holds)}, tables))

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
        known = [] if name == "tuning" and not self.tuned else self.commits
        return parts.stored_rows(self.folder, known, name, ranks=self.columns.ranks(), run=self.identity.name)


@lru_cache(maxsize=1024)
def _without(cells: Cells, others: Cells) -> Cells:
    return cells - others


@contextmanager
def opened(
    folder: Path | None, identity: Identity, asked: Columns, data: Dataset, tune: Dataset | None
) -> Iterator[Book]:
    """Start a run, or go on with one that this may be a part of; whatever ends the block, what was done is written."""
    for own in (data, *([] if tune is None else [tune])):
        _check_ids(own)
    if folder is None:
        yield Book(folder, identity, asked, tune is not None, identity.name)
        return
    with files.claimed(folder):
        run, commits = taken_up(folder, identity, asked)
        book = Book(folder, identity, asked, tune is not None, run, commits)
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
