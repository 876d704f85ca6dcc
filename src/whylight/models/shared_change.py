"""A change of something that all threads share: made by the first who asks for it, put back by the last who is done."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from whylight.core.interruption import postponed, taken

Restore = Callable[[], object]


class SharedChange:
    """A change that holds as long as any thread wants it.

    Args:
        make: Makes the change, and returns what puts it back, the last first.
    """

    def __init__(self, make: Callable[[], Sequence[Restore]]) -> None:
        self._make, self._lock = make, threading.Lock()
        self._restore: list[Restore] = []
        self._wanted = 0

    @property
    def holds(self) -> bool:
        """Whether somebody wants it now."""
        return self._wanted > 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Want it inside the block; Ctrl-C waits for the end of it."""
        with postponed():
            self._enter()
            try:
                yield
            finally:
                self._leave()

    def _enter(self) -> None:
        with taken(self._lock):
            if not self._wanted:
                self._restore = list(self._make())
            self._wanted += 1

    def _leave(self) -> None:
        with taken(self._lock):
            self._wanted -= 1
            while not self._wanted and self._restore:
                self._restore.pop()()
