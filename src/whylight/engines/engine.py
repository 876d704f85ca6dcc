"""What an engine is: some workers that take orders, and say what became of them.

An engine schedules nothing. Whoever hands out orders (`engines/crew.py`) gives each free worker its next one, and
decides what happens to an order whose worker has died.
"""

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from whylight.core.errors import WhylightError

Work = Callable[[Any], Any]
"""What a worker does with an order: it returns a receipt, which must be small."""
Opening = Callable[[], Work]
"""What makes a worker in its process, such as by loading a model; it can be sent to another process."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A worker is open, and takes its first order."""

    worker: Hashable


@dataclass(frozen=True, slots=True)
class Done:
    """A worker is done with its order."""

    worker: Hashable
    receipt: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """A worker could not be opened, or could not do its order; it is there still."""

    worker: Hashable
    error: Exception


@dataclass(frozen=True, slots=True)
class Died:
    """A worker is no more.

    Attributes:
        worker: Which one.
        opened: Whether it was open; one that dies before has died of no order.
        of_node: Whether the machine was lost with it, which says nothing about an order.
    """

    worker: Hashable
    opened: bool = True
    of_node: bool = False


Event = Ready | Done | Raised | Died


class Engine(Protocol):
    """Some workers."""

    def start(self, count: int) -> Sequence[Hashable]:
        """Start so many workers; return what they are called. Only one that has said that it is ready gets an order."""
        ...

    def send(self, worker: Hashable, order: Any) -> None:  # noqa: ANN401  whatever the workers do
        """Give a worker its next order."""
        ...

    def wait(self, workers: Collection[Hashable], *, seconds: float) -> list[Event]:
        """Wait until some of these workers are ready, done or dead, or so many seconds have passed."""
        ...

    def stop(self, *, kindly: bool) -> None:
        """End all workers; kindly lets them write what they have."""
        ...


READY, DONE, RAISED = "ready", "done", "raised"
Answer = tuple[str, Any]
"""What a worker in another process says: one of these, and a receipt or an error."""


class Served:
    """A worker in another process: what it raises is an answer, too."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._work: Work | None = None

    def ready(self) -> Answer:
        """Open the worker; it has one thread: workers share the cores, and all give the same last digits."""
        import torch  # noqa: PLC0415  which takes long to load

        try:
            torch.set_num_threads(1)
            self._work = self._opening()
        except Exception as error:  # noqa: BLE001  said by whoever hands out orders
            return RAISED, _sendable(error)
        return READY, None

    def work(self, order: Any) -> Answer:  # noqa: ANN401  whatever it does
        """Do an order."""
        try:
            return DONE, None if self._work is None else self._work(order)
        except Exception as error:  # noqa: BLE001  as above
            return RAISED, _sendable(error)


def event_of(worker: Hashable, answer: Answer) -> Event:
    """Return what an answer of a worker says."""
    kind, said = answer
    if kind == READY:
        return Ready(worker)
    return Done(worker, said) if kind == DONE else Raised(worker, said)


def _sendable(error: Exception) -> Exception:
    """Return an error that another process can read."""
    return error if isinstance(error, WhylightError) else RuntimeError(f"{type(error).__name__}: {error}")
