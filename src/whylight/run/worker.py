"""The worker of a run: it has the model, gets one shard after the other, and writes what it gave.

Every engine has the same worker, in its own process or in another. Only receipts come back from it.

A worker notes in the folder which texts it is about to work on (`run/notes.py`).
"""

import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from whylight.core.errors import InputError
from whylight.core.identity import Identity
from whylight.core.memory import peak_megabytes
from whylight.data.dataset import Dataset, record_digest
from whylight.run import notes
from whylight.run.book import Book
from whylight.run.evaluate import Question, plan_of
from whylight.run.shards import Shard, failed, fill
from whylight.store import pages, parts, runs
from whylight.store.columns import Cells
from whylight.store.commits import Commit, counting
from whylight.views.classifier import Classifier


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker must know before its first shard; all of it can be sent to another process.

    Attributes:
        opening: Loads the model.
        question: What is asked.
        head: The first texts, of which one can see what the data has.
        folder: Where results go.
        identity: Whose results they are.
    """

    opening: Callable[[], Classifier]
    question: Question
    head: Dataset
    folder: Path
    identity: Identity


@dataclass(frozen=True, slots=True)
class Order:
    """One shard to work on.

    Attributes:
        shard: Its texts.
        stems: Commits that begin in it.
        retry: Whether texts that failed are worked on again.
        aside: Texts that are not worked on, because processes die of them, with the reason.
        alone: Texts that are worked on by themselves, to find the one that processes die of.
    """

    shard: Shard
    stems: tuple[str, ...] = ()
    retry: bool = False
    aside: Mapping[int, str] = field(default_factory=dict)
    alone: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a shard.

    Attributes:
        first: Its first text.
        texts: Its texts.
        new: Those that were worked on.
        failed: Those that have failed, now or before.
        seconds: What that took.
        rows_run: Inputs that the model was given.
        peak_megabytes: The most memory of the worker by then.
    """

    first: int
    texts: int
    new: int
    failed: int
    seconds: float
    rows_run: int
    peak_megabytes: float | None


class Worker:
    """A model that works on shards."""

    def __init__(self, job: Job, *, classifier: Classifier | None = None) -> None:
        """Load the model, unless it is there.

        Args:
            job: What is to be done.
            classifier: The model, if it is in this process already.
        """
        self._job = job
        self._classifier = job.opening() if classifier is None else classifier
        self._plan = plan_of(self._classifier, job.head, job.question)

    def work(self, order: Order) -> Receipt:
        """Work on a shard, and write what it gave.

        Raises:
            InputError: The folder is of other data, is damaged, or cannot be written in.
        """
        began, shard = time.monotonic(), order.shard
        book = self._book(order)
        before = book.missing(shard.numbers, self._plan.columns.cells)
        run_before = sum(one.rows_run for one in book.commits)
        places = sorted(before)
        failed = sum(len(one.failed) for one in book.commits)
        with notes.note(self._job.folder, shard.first) as note:

            def begin(numbers: Sequence[int]) -> None:
                note.begin(numbers, new=bisect_left(places, numbers[0]), failed=failed + book.failures)

            try:
                self._fill(book, order, before, begin)
            except BaseException:
                with suppress(InputError):
                    book.write()
                raise
        return Receipt(
            shard.first,
            len(shard.records),
            len(before),
            sum(len(one.failed) for one in book.commits),
            time.monotonic() - began,
            sum(one.rows_run for one in book.commits) - run_before,
            peak_megabytes(),
        )

    def _fill(
        self, book: Book, order: Order, missing: Mapping[int, Cells], begin: Callable[[Sequence[int]], None]
    ) -> None:
        """Work on what is missing of a shard, and write it."""
        if not missing:
            book.settle(order.shard.numbers)
            return
        self._set_aside(book, order, missing)
        apart = {"aside": order.aside.keys(), "alone": order.alone}
        fill(book, self._classifier, order.shard, self._plan, begin=begin, keep_going=True, **apart)

    def _book(self, order: Order) -> Book:
        """Open what there is of a shard, after a look at every byte of it."""
        folder, identity, columns = self._job.folder, self._job.identity, self._plan.columns
        known = [one for stem in order.stems if (one := parts.read_commit(folder, stem)) is not None]
        manifest = runs.manifest_in(folder)
        known = counting(known, {} if manifest is None else manifest.earlier)
        _check_data(folder, order.shard, known)
        for one in known:
            parts.check_sums(folder, one)
        if order.retry:
            known = [left for one in known for left in pages.without_failed(folder, one)]
        run = identity.name if manifest is None else manifest.run
        return Book(folder, identity, columns, tuned=False, run=run, commits=known)

    def _set_aside(self, book: Book, order: Order, missing: Mapping[int, Cells]) -> None:
        """Write down texts as failed that are not to be worked on."""
        for number, reason in order.aside.items():
            if number in missing:
                book.add(number, order.shard[number], failed(reason), holds=missing[number])
                book.write()


def _check_data(folder: Path, shard: Shard, known: Sequence[Commit]) -> None:
    """Refuse a folder that has results of other texts."""
    for one in known:
        for number, record in zip(one.numbers, one.records, strict=True):
            if number not in shard.numbers or record != record_digest(shard[number]):
                other = "more texts" if number not in shard.numbers else f"another text at place {number}"
                raise other_data(folder, other)


def other_data(folder: Path, other: str) -> InputError:
    """Build the one sentence about a folder that has results of other texts."""
    return InputError(
        f"'{folder}' holds a run of other data: it has {other}; name another folder, or give the same data, to which "
        "more may have been added at its end."
    )


def opened(job: Job) -> Callable[[Order], Receipt]:
    """Return what a worker does with an order."""
    return Worker(job).work
