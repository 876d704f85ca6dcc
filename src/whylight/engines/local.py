"""The engine of one machine: a process for each worker, with one thread.

Processes are spawned, not forked: a forked torch may hang. A worker ends when whoever started it is gone, so that no
two of them meet in one folder. Ctrl-C reaches the driver alone, which then asks workers to write what they have and to
end.
"""

import os
import signal
import sys
import threading
from collections.abc import Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count as counting
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait as wait_for
from multiprocessing.context import SpawnProcess
from pickle import PicklingError
from typing import Any

from whylight.core.errors import SettingError
from whylight.engines.engine import READY, Died, Event, Opening, Served, event_of

PATIENCE = 30.0
"""Seconds in which a worker must have written what it has."""
REASON = 100
"""Characters of another library's complaint that are repeated."""


@dataclass(slots=True)
class _Hired:
    process: SpawnProcess
    pipe: "Connection[Any, Any]"
    opened: bool = False


class Local:
    """Workers in processes of this machine."""

    def __init__(self, opening: Opening) -> None:
        self._opening, self._names = opening, counting()
        self._hired: dict[Hashable, _Hired] = {}

    def start(self, count: int) -> Sequence[Hashable]:
        """Start so many processes."""
        return [self._hire() for _ in range(count)]

    def _hire(self) -> Hashable:
        context, name = get_context("spawn"), next(self._names)
        mine, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, self._opening), daemon=True, name=f"whylight-{name}")
        try:
            with _without_interrupts():
                process.start()
        except (PicklingError, AttributeError, TypeError) as error:  # what pickle says of a function within another
            raise SettingError(
                f"a worker in another process cannot get the model ({' '.join(str(error).split())[:REASON]}); name a "
                "folder, a hub id or a function of a module, or hand over what wl.load returned, for one worker here."
            ) from None
        theirs.close()
        self._hired[name] = _Hired(process, mine)
        return name

    def send(self, worker: Hashable, order: Any) -> None:  # noqa: ANN401  whatever the workers do
        """Send an order; a worker that has died is noticed when it is waited for."""
        with suppress(OSError):
            self._hired[worker].pipe.send(order)

    def wait(self, workers: Collection[Hashable], *, seconds: float) -> list[Event]:
        """Wait for messages and deaths."""
        pipes = {self._hired[name].pipe: name for name in workers}
        # they are the ones that were given
        return [self._heard(pipes[pipe]) for pipe in wait_for(list(pipes), timeout=seconds)]  # type: ignore[index]

    def _heard(self, name: Hashable) -> Event:
        hired = self._hired[name]
        try:
            answer = hired.pipe.recv()
        except (EOFError, OSError):
            hired.process.join(PATIENCE)
            self._forget(name)
            return Died(name, opened=hired.opened)
        hired.opened = hired.opened or answer[0] == READY
        return event_of(name, answer)

    def _forget(self, name: Hashable) -> None:
        hired = self._hired.pop(name)
        hired.process.kill()
        hired.process.join()
        hired.pipe.close()

    def stop(self, *, kindly: bool) -> None:
        """End all processes."""
        for hired in self._hired.values():
            with suppress(OSError):
                hired.pipe.close()
            if kindly:
                hired.process.terminate()
        for name, hired in list(self._hired.items()):
            hired.process.join(PATIENCE if kindly else 0)
            self._forget(name)


def serve(pipe: "Connection[Any, Any]", opening: Opening) -> None:
    """Be a worker, in a process of its own; asked to end, it has something to write once it is open."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError, KeyboardInterrupt):  # whoever drives is gone, or asks to end
        worker = Served(opening)
        answer = worker.ready()
        signal.signal(signal.SIGTERM, _stopped)
        pipe.send(answer)
        while True:
            order = pipe.recv()
            pipe.send(worker.work(order))


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let processes that are started inside the block not hear Ctrl-C, from their first moment; here it comes later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which comes with the first process, and would let signals through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _stopped(_signal: int, _frame: object) -> None:
    sys.stderr = None  # what libraries say of being interrupted is of no use
    raise KeyboardInterrupt


def end_with_parent() -> None:
    """Wait for the process that started this one, and end this one after it; for a thread of its own."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
