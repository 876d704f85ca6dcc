"""Workers of an engine that live in this process: they finish in another order, and die."""

from collections.abc import Collection, Hashable, Sequence
from typing import Any

import pytest

from whylight.engines.engine import DONE, Died, Event, Opening, Served, event_of
from whylight.engines.where import Where


class Virtual:
    """Workers, each opened by itself; the last order is done first, and the first so many receipts are never heard."""

    def __init__(self, opening: Opening, *, deaths: int = 0) -> None:
        self.opening, self.deaths = opening, deaths
        self.workers, self.new = dict[Hashable, Served](), list[Event]()
        self.held, self.done, self.started = list[tuple[Hashable, Any]](), list[Any](), 0

    def start(self, count: int) -> Sequence[Hashable]:
        names = list(range(self.started, self.started + count))
        self.started += count
        for name in names:
            self.workers[name] = Served(self.opening)
            answer = self.workers[name].ready()
            self.new.append(event_of(name, answer))
        return names

    def send(self, worker: Hashable, order: Any) -> None:
        self.held.append((worker, order))

    def wait(self, workers: Collection[Hashable], *, seconds: float) -> list[Event]:
        assert {name for name, _ in self.held} <= set(workers)
        assert seconds > 0
        if self.new:
            return [self.new.pop()]
        name, order = self.held.pop()
        answer = self.workers[name].work(order)
        self.done.append(order)
        if answer[0] == DONE and self.deaths:
            self.deaths -= 1
            return [Died(name)]
        return [event_of(name, answer)]

    def stop(self, *, kindly: bool) -> None:
        self.stopped = kindly


def use(monkeypatch: pytest.MonkeyPatch, *, deaths: int = 0) -> list[Virtual]:
    """Have virtual workers wherever there would be processes; return engines as they are made."""
    made: list[Virtual] = []

    def workers_of(_: Where, opening: Opening) -> Virtual:
        made.append(Virtual(opening, deaths=deaths))
        return made[-1]

    monkeypatch.setattr(Where, "workers_of", workers_of)
    return made
