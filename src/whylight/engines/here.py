"""The engine without processes: one worker, here."""

from collections.abc import Collection, Hashable, Sequence
from typing import Any

from whylight.engines.engine import Done, Event, Ready, Work


class Here:
    """One worker in this process, with all of its threads."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._events: list[Event] = []

    def start(self, count: int) -> Sequence[Hashable]:  # noqa: ARG002  there is one
        """Return the one worker that there is."""
        self._events.append(Ready(0))
        return [0]

    def send(self, worker: Hashable, order: Any) -> None:  # noqa: ANN401  whatever the worker does
        """Do an order at once; what it raises is raised here."""
        self._events.append(Done(worker, self._work(order)))

    def wait(self, workers: Collection[Hashable], *, seconds: float) -> list[Event]:  # noqa: ARG002
        """Return what is done."""
        found, self._events = self._events, []
        return found

    def stop(self, *, kindly: bool) -> None:
        """Do nothing: there is no process to end."""
