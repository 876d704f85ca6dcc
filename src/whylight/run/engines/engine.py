"""What an engine is: some workers that take orders, and say what became of them.

An engine schedules nothing. Whoever drives the run hands each free worker its next order, and decides what happens to
an order whose worker has died.
"""

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

from whylight.run.worker import Order, Receipt


@dataclass(frozen=True, slots=True)
class Event:
    """What became of a worker, or of its order.

    Attributes:
        worker: Which one.
        receipt: What was done; None if the worker died, or raised.
        error: What it raised.
        ready: Whether it is this that is told: it has a model now, and takes its first order.
        started: Whether the worker had a model; one that dies before has died of no text.
        of_node: Whether the machine was lost with it, which says nothing about a text.
    """

    worker: Hashable
    receipt: Receipt | None = None
    error: Exception | None = None
    ready: bool = False
    started: bool = True
    of_node: bool = False

    @property
    def died(self) -> bool:
        """Whether the worker is no more."""
        return self.receipt is None and self.error is None and not self.ready


class Engine(Protocol):
    """Some workers."""

    def start(self, count: int) -> Sequence[Hashable]:
        """Start so many workers; return what they are called. Only one that has said that it is ready gets an order."""
        ...

    def send(self, worker: Hashable, order: Order) -> None:
        """Give a worker its next order."""
        ...

    def wait(self, workers: Collection[Hashable], *, seconds: float) -> list[Event]:
        """Wait until some of these workers are ready, done or dead, or so many seconds have passed."""
        ...

    def stop(self, *, kindly: bool) -> None:
        """End all workers; kindly lets them write what they have."""
        ...
