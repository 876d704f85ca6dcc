"""A crew: each free worker gets the next task, and who dies is replaced.

A task is whatever somebody wants done; a `Duty` says which order it is, and hears what became of it. Tasks are taken as
they come, one ahead. The task of a worker that died is done again, unless its duty gives it up.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from whylight.core.errors import ModelError
from whylight.engines.engine import Died, Done, Engine, Event, Raised, Ready

MOST_DEATHS = 3
"""Deaths of workers of one task after which it is given up; and deaths before any work after which all of it is."""
LOOK_EVERY = 1.0
"""Seconds for which one waits for something to happen."""
Task = TypeVar("Task")
Task_contra = TypeVar("Task_contra", contravariant=True)


class Duty(Protocol[Task_contra]):
    """What some tasks are about."""

    def order(self, task: Task_contra) -> Any:  # noqa: ANN401  whatever the workers do
        """Return the order that a free worker gets now."""
        ...

    def ready(self) -> None:
        """Hear that a worker is open."""
        ...

    def done(self, task: Task_contra, receipt: Any) -> None:  # noqa: ANN401
        """Hear that a task is done."""
        ...

    def died(self, task: Task_contra | None, death: Died) -> None:
        """Hear that a worker died, of a task or of none; what this raises ends everything."""
        ...

    def looked(self) -> None:
        """Is called every second, if not more often."""
        ...


@dataclass(slots=True)
class Crew:
    """Some workers, from the beginning of a block to its end.

    Attributes:
        engine: Where they are.
        workers: How many.
    """

    engine: Engine
    workers: int
    _free: list[Hashable] = field(default_factory=list)
    _starting: set[Hashable] = field(default_factory=set)
    _unborn: int = 0

    def __enter__(self) -> Self:
        try:
            self._starting.update(self.engine.start(self.workers))
        except BaseException:
            self.engine.stop(kindly=True)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.engine.stop(kindly=kind is not None)

    def do(self, tasks: Iterable[Task], duty: Duty[Task]) -> None:
        """Have all tasks done.

        Raises:
            Exception: What a worker could not go on after.
        """
        coming, again, busy = iter(tasks), deque[Task](), dict[Hashable, Task]()
        while _has_more(coming, again) or busy:
            while self._free and _has_more(coming, again):
                worker, task = self._free.pop(), again.popleft()
                busy[worker] = task
                self.engine.send(worker, duty.order(task))
            for event in self.engine.wait([*busy, *self._starting], seconds=LOOK_EVERY):
                self._heard(event, duty, busy, again)
            duty.looked()

    def _heard(self, event: Event, duty: Duty[Task], busy: dict[Hashable, Task], again: deque[Task]) -> None:
        """Take in what became of a worker."""
        if isinstance(event, Raised):
            raise event.error
        if isinstance(event, Ready):
            self._starting.discard(event.worker)
            self._free.append(event.worker)
            duty.ready()
        elif isinstance(event, Done):
            self._unborn = 0
            self._free.append(event.worker)
            duty.done(busy.pop(event.worker), event.receipt)
        else:
            task = busy.pop(event.worker, None)
            self._mourn(event)
            duty.died(task, event)
            again.extend(() if task is None else (task,))
            self._starting.update(self.engine.start(1))

    def _mourn(self, death: Died) -> None:
        """Give up where no worker can be opened."""
        self._starting.discard(death.worker)
        self._unborn = 0 if death.opened else self._unborn + 1
        if self._unborn >= MOST_DEATHS:
            raise ModelError(
                f"{MOST_DEATHS} workers died before the model was loaded, which happens where memory is short; try "
                "one, or wl.load."
            )


def _has_more(coming: Iterator[Task], again: deque[Task]) -> bool:
    """Say whether a task is left, of which one is taken ahead."""
    if not again:
        again.extend(islice(coming, 1))
    return bool(again)
