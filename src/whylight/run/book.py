"""The book of a run: what each text gave, in memory or, where there is a folder, in parts on disk.

With a folder, texts wait in memory until their shard is complete, until some seconds have passed, or until so many
bytes have gathered; then they are written and forgotten. What was written of a shard before it was complete is written
once more, with the rest of it, as one part. So memory and time per text do not depend on how many texts there are, and
the files of a complete shard not on when something was written.
"""

import socket
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from whylight.core.errors import InputError
from whylight.core.identity import Identity
from whylight.core.memory import peak_megabytes
from whylight.data.dataset import Dataset, Record, record_digest
from whylight.run.evaluation import Evaluation
from whylight.run.growing import taken_up
from whylight.run.measuring import Done
from whylight.store import columns, files, pages, parts, runs, success
from whylight.store.columns import NOTHING, Cells, Columns, in_order
from whylight.store.commits import DONE, FAILED, Commit, failures, held
from whylight.store.pages import Page
from whylight.store.tables import Row

WRITE_EVERY = 20.0
"""Seconds between two writes."""
MOST_BYTES = 32 * 2**20
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
        shard: The most texts of a shard, where the folder says it.
        failures: Texts that have failed since it was opened.
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
    shard: int | None = None
    failures: int = 0
    waiting: list[Page] = field(default_factory=list)
    bytes_waiting: int = 0
    rows: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in (*parts.SCHEMAS, parts.COMMITS)})
    rows_run: int = 0
    began: float = field(default_factory=time.monotonic)
    last: float = field(default_factory=time.monotonic)
    written: float = field(default_factory=time.monotonic)

    @property
    def tuning(self) -> Sequence[Row]:
        """Explanations of the tuning texts."""
        self.write()
        return self._table("tuning")

    def missing(self, numbers: range, asked: Cells, *, tuning: bool = False) -> dict[int, Cells]:
        """Return the cells that texts lack of those that are asked for, by their places in the data."""
        known = self._held(numbers, tuning=tuning)
        lacking = ((number, _without(asked, known.get(number) or NOTHING)) for number in numbers)
        return {number: cells for number, cells in lacking if cells}

    def _held(self, numbers: range, *, tuning: bool) -> dict[int, Cells | None]:
        return held(self._within(numbers, tuning=tuning), tuning=tuning)

    def _within(self, numbers: range, *, tuning: bool) -> list[Commit]:
        """Return the commits that have something of some texts."""
        start, stop = numbers.start, numbers.stop
        own = (one for one in self.commits if one.tuning is tuning)
        return [one for one in own if one.numbers.start < stop and start < one.numbers.stop]

    def recalling(self, missing: Collection[int], *, tuning: bool = False) -> Callable[[int], list[Row]]:
        """Return what gives the rows of explanations that a text has; texts are asked for in the order of the data."""
        if self.folder is None or not missing:
            return lambda _: []
        numbers = range(min(missing), max(missing) + 1)
        known = self._held(numbers, tuning=tuning)
        partly = {number for number in missing if known.get(number)}
        own = self._within(numbers, tuning=tuning)
        rows = parts.stored_rows(self.folder, own, "tuning" if tuning else "explanations").texts(partly)
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
        text: Row = {"run": self.run, "number": number, "example_id": record.id, "tuning": tuning}
        text |= {"holds": columns.written(holds), "record": record_digest(record)}
        text |= {"status": DONE if done.reason is None else FAILED, "reason": done.reason}
        if self.folder is None:
            self.rows_run += done.rows_run
            tables[parts.COMMITS] = [text]
            for name, own in tables.items():
                self.rows[name] += own
            return
        self.failures += done.reason is not None
        now = time.monotonic()
        measured: Row = {"rows_run": done.rows_run, "seconds": now - self.last, "peak_megabytes": peak_megabytes()}
        self.last = now
        self._wait(pages.page_of(text, tables, {**measured, "host": socket.gethostname()}))

    def _wait(self, page: Page) -> None:
        if self.waiting and not page.follows(self.waiting[-1]):
            self.write()
        self.waiting.append(page)
        self.bytes_waiting += page.nbytes
        late = self.bytes_waiting >= MOST_BYTES or time.monotonic() - self.written > WRITE_EVERY
        if late:
            self.write()

    def write(self) -> None:
        """Write what is waiting, and forget it; interrupted in between, it is written again under the same name."""
        if self.folder is not None and self.waiting:
            self.commits.append(pages.write_parts(self.folder, self.waiting))
            self.waiting, self.bytes_waiting = [], 0
        self.written = time.monotonic()

    def settle(self, numbers: range, *, tuning: bool = False) -> None:
        """Have one part of each table for the texts of a complete shard, whatever was written of it before.

        What a run was asked for later stays apart: parts are put together that hold the same cells, and of one question
        (`run`), as a commit has to be.
        """
        if self.folder is None:
            return
        groups: dict[tuple[str, str], tuple[list[Commit], list[Page]]] = defaultdict(lambda: ([], []))
        for one in self._within(numbers, tuning=tuning):
            cells = set(one.holds)
            if (
                None not in one.records and None not in cells and len(cells) == 1
            ):  # not of an earlier version, nor mixed
                groups[one.run, columns.written(one.holds[0] or NOTHING)][0].append(one)
        for page in self.waiting:
            groups[page.text["run"], page.text["holds"]][1].append(page)
        for known, new in groups.values():
            if len(known) + bool(new) > 1 and self._together(known, new):
                self.waiting = [page for page in self.waiting if page not in new]
        self.write()

    def _together(self, known: Sequence[Commit], new: Sequence[Page]) -> bool:
        """Put commits and pages together, if they are of consecutive texts; pages stand for what there was before."""
        if self.folder is None:
            return False
        each = {page.number: page for one in known for page in pages.pages_in(self.folder, one)}
        each |= {page.number: page for page in new}
        found = [each[number] for number in sorted(each)]
        if found[-1].number - found[0].number + 1 != len(found):
            return False
        made = pages.supersede(self.folder, known, found)
        self.commits = [*(one for one in self.commits if one not in known), made]
        return True

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
            failed=failures(self.commits),
            texts=self._table(parts.COMMITS),
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
        manifest, commits = taken_up(folder, identity, asked, data)
        book = Book(folder, identity, asked, tune is not None, manifest.run, commits, manifest.shard)
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
        if manifest.columns == asked and not (folder / success.SUCCESS).exists():
            success.write_success(folder)


def _check_ids(data: Dataset) -> None:
    twice = [name for name, count in Counter(record.id for record in data).items() if count > 1]
    if twice:
        raise InputError(f"two records of '{data.name}' ({data.split}) have the id '{twice[0]}'; make ids unique.")
