"""The book of a run: what each text gave, in memory and, where there is a folder, on disk every few seconds."""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from whylight.core.errors import InputError
from whylight.core.identity import Identity
from whylight.core.memory import peak_megabytes
from whylight.data.dataset import Dataset
from whylight.run.evaluation import Evaluation
from whylight.run.one import Done
from whylight.store import files, runs, tables
from whylight.store.tables import Row

WRITE_EVERY = 20.0
"""Seconds between two writes of the tables."""
Texts = dict[str, Done | None]
"""By the name of a text, in the order of the data: what it gave, if it is done. One step makes it done, never two."""


@dataclass(slots=True)
class Book:
    """What the texts of a run gave."""

    folder: Path | None
    identity: Identity
    texts: Texts
    tuned: Texts
    seconds: float = 0.0
    written: float = field(default_factory=time.monotonic)

    @property
    def run(self) -> str:
        """The name of the run."""
        return self.identity.name

    @property
    def tuning(self) -> list[Row]:
        """Explanations of the tuning texts."""
        return _rows(self.tuned, lambda done: done.explanations)

    def add(self, name: str, done: Done, *, tuning: bool = False) -> None:
        """Keep what one text gave."""
        (self.tuned if tuning else self.texts)[name] = done
        if time.monotonic() - self.written > WRITE_EVERY:
            self.write()

    def write(self) -> None:
        """Write the tables; the list of what is done comes last, and what it does not list does not count."""
        now = time.monotonic()
        self.seconds, self.written = self.seconds + now - self.written, now
        if self.folder is not None:
            found = self.evaluation()
            tables.write(self.folder / "tuning.parquet", found.tuning, tables.EXPLANATIONS)
            tables.write(self.folder / "explanations.parquet", found.explanations, tables.EXPLANATIONS)
            tables.write(self.folder / "curves.parquet", found.curves, tables.CURVES)
            tables.write(self.folder / "scores.parquet", found.scores, tables.SCORES)
            self.sign()

    def sign(self) -> None:
        """Write whose folder it is, and which texts are done."""
        if self.folder is None:
            return
        found = self.evaluation()
        about: Row = {"run": self.run, "asked": json.dumps(self.identity.asked, sort_keys=True)}
        about |= {"rows_run": found.rows_run, "seconds": found.seconds, "peak_megabytes": found.peak_megabytes}
        about["done"] = [*_listed(self.tuned, tuning=True), *_listed(self.texts, tuning=False)]
        tables.write(self.folder / "runs.parquet", [about], tables.RUNS)

    def evaluation(self) -> Evaluation:
        """Return the rows as a result."""
        return Evaluation(
            _rows(self.texts, lambda done: done.explanations),
            _rows(self.texts, lambda done: done.scores),
            _rows(self.texts, lambda done: done.curves),
            self.tuning,
            rows_run=sum(done.rows_run for own in (self.tuned, self.texts) for done in own.values() if done),
            seconds=self.seconds,
            peak_megabytes=peak_megabytes(),
            asked=self.identity.asked,
        )


@contextmanager
def opened(folder: Path | None, identity: Identity, data: Dataset, tune: Dataset | None) -> Iterator[Book]:
    """Start a run, or go on with one of the same question; whatever ends the block, what was done is written."""
    book = Book(folder, identity, _blank(data), {} if tune is None else _blank(tune))
    if folder is None:
        yield book
        return
    with files.claimed(folder):
        _take_up(book, folder)
        book.sign()  # before the work, so that a folder that cannot be written in is known at once
        try:
            yield book
        except KeyboardInterrupt:
            book.write()
            raise KeyboardInterrupt(f"what was done is in '{folder}', and the same call goes on from there") from None
        except Exception:
            with suppress(InputError):  # the disk is full, which may be what ended the block
                book.write()
            raise
        book.write()


def _blank(data: Dataset) -> Texts:
    blank: Texts = {record.id: None for record in data}
    if len(blank) < len(data):
        twice = next(name for name, count in Counter(record.id for record in data).items() if count > 1)
        raise InputError(f"two records of '{data.name}' ({data.split}) have the id '{twice}'; make ids unique.")
    return blank


def _take_up(book: Book, folder: Path) -> None:
    """Put what an earlier call has done into the book; another run's folder is refused."""
    stored = runs.read(folder)
    if stored.runs - {book.run}:
        raise book.identity.refusal(folder, _asked(stored.about), kind="run")
    book.seconds = 0.0 if stored.about is None else float(stored.about["seconds"])
    every = (stored.explanations, stored.scores, stored.curves)
    explanations, scores, curves = (_by_text(rows) for rows in every)
    for name, rows_run in stored.done.items():
        book.texts[name] = Done(explanations[name], scores[name], curves[name], rows_run)
    tuning = _by_text(stored.tuning)
    for name, rows_run in stored.tuned.items():
        book.tuned[name] = Done(tuning[name], [], [], rows_run)


def _asked(about: Row | None) -> object:
    try:
        return None if about is None else json.loads(about["asked"])
    except ValueError:
        return None


def _by_text(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["example_id"]].append(row)
    return found


def _rows(texts: Texts, table: Callable[[Done], list[Row]]) -> list[Row]:
    return [row for done in texts.values() if done is not None for row in table(done)]


def _listed(texts: Texts, *, tuning: bool) -> list[Row]:
    return [
        {
            "example_id": name,
            "tuning": tuning,
            "explanations": len(done.explanations),
            "scores": 0 if tuning else len(done.scores),
            "curves": 0 if tuning else len(done.curves),
            "rows_run": done.rows_run,
        }
        for name, done in texts.items()
        if done is not None
    ]
