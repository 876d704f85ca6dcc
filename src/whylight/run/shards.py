"""Shards of a run: some consecutive texts, the unit that is worked on, written and counted.

Where a shard ends follows from the texts alone: after so many of them, or before their characters would be too many. So
it does not matter who works on which shard, when, and how often it was stopped; and data that has grown has the same
shards as before, but for the last one.

Cost: memory of one shard.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from whylight.data.dataset import Record
from whylight.explaining.explain import groups_of
from whylight.run import growing
from whylight.run.bench import Task
from whylight.run.book import Book
from whylight.run.measuring import Done
from whylight.run.one import work_together
from whylight.run.plan import Plan
from whylight.store.columns import NOTHING
from whylight.views.classifier import Classifier

MOST_SIZE = 2**21
"""The size of the texts of a shard together: characters, or pixels."""
REASON = 300
"""Characters that are kept of why a text failed."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Some consecutive texts of a data set.

    Attributes:
        first: Place of the first one in its data.
        records: The texts.
        tuning: Whether boundaries are tuned on them.
    """

    first: int
    records: tuple[Record, ...]
    tuning: bool = False

    @property
    def numbers(self) -> range:
        """Their places."""
        return range(self.first, self.first + len(self.records))

    def __getitem__(self, number: int) -> Record:
        return self.records[number - self.first]

    def blocks(self, plan: Plan) -> list[range]:
        """Return which of them are explained at once."""
        groups = groups_of([record.example.size for record in self.records], plan.methods)
        return [range(self.first + own.start, self.first + own.stop) for own in groups]


def shards_of(records: Iterable[Record], *, most: int | None = None, tuning: bool = False) -> Iterator[Shard]:
    """Cut data into shards, as it comes.

    Args:
        records: The data, in its order.
        most: The most texts of a shard, where the folder says it.
        tuning: Whether boundaries are tuned on them.
    """
    first, held, size, limit = 0, list[Record](), 0, most or growing.MOST_TEXTS
    for record in records:
        own = record.example.size
        if held and (len(held) >= limit or size + own > MOST_SIZE):
            yield Shard(first, tuple(held), tuning)
            first, held, size = first + len(held), [], 0
        held.append(record)
        size += own
    if held:
        yield Shard(first, tuple(held), tuning)


def fill(  # noqa: PLR0913  every argument but four is optional and named
    book: Book,
    classifier: Classifier,
    shard: Shard,
    plan: Plan,
    *,
    begin: Callable[[Sequence[int]], None] = lambda _: None,
    keep_going: bool = False,
    aside: Collection[int] = (),
    alone: Collection[int] = (),
) -> None:
    """Work on what a book lacks of a shard, and write it.

    Where a method takes several texts at once, these are the same ones however often a run was stopped, because a
    common batch shows in the last digits: what lacks a part of such a block has all of it worked on again.

    Args:
        book: What there is.
        classifier: What is explained.
        shard: The texts.
        plan: What is asked.
        begin: Is called with the places of the texts whenever work on some of them begins.
        keep_going: Whether a text that fails is written down as failed, and not raised.
        aside: Texts that are not worked on, with others or alone.
        alone: Texts that are worked on without others.
    """
    missing = book.missing(shard.numbers, plan.columns.cells, tuning=shard.tuning)
    recalled = book.recalling(missing, tuning=shard.tuning)
    for own in _groups(shard.blocks(plan), aside, alone):
        if any(number in missing for number in own):
            begin(own)
            tasks = [Task(shard[number], missing.get(number, NOTHING), recalled(number)) for number in own]
            for number, one in zip(own, _worked(classifier, tasks, plan, book.run, keep_going=keep_going), strict=True):
                if number in missing:
                    book.add(number, shard[number], one, holds=missing[number], tuning=shard.tuning)
    book.settle(shard.numbers, tuning=shard.tuning)


def _groups(blocks: Iterable[Sequence[int]], aside: Collection[int], alone: Collection[int]) -> Iterator[list[int]]:
    """Yield the texts that are worked on at once."""
    for block in blocks:
        yield [number for number in block if number not in aside and number not in alone]
        yield from ([number] for number in block if number not in aside and number in alone)


def _worked(classifier: Classifier, tasks: Sequence[Task], plan: Plan, run: str, *, keep_going: bool) -> Iterator[Done]:
    """Work on a block; where texts may fail, one by one after one of them has failed."""
    if not keep_going:
        return iter(work_together(classifier, tasks, plan, run=run))
    try:
        return iter(list(work_together(classifier, tasks, plan, run=run)))
    except Exception as error:  # noqa: BLE001  whatever a model, a method or a text leads to
        if len(tasks) == 1:
            return iter([failed(error)])
        alone = ([task] for task in tasks)
        return chain.from_iterable(_worked(classifier, own, plan, run, keep_going=True) for own in alone)


def failed(error: BaseException | str) -> Done:
    """Return what a text gave that failed."""
    said = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return Done([], [], [], 0, reason=" ".join(said.split())[:REASON])
