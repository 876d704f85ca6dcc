"""Ctrl-C at a safe moment: while something has to be put back, an interrupt waits for the next step or for the end.

Python raises KeyboardInterrupt between any two instructions, also in the middle of a clean-up, which then is never
finished. Inside `postponed()` an interrupt is only remembered. It is raised by `checkpoint()`, which long work calls
between two steps, or when the block has been left. A user's own code within it runs `at_once()`, where an interrupt
is not kept waiting. Signals reach the main thread alone; other threads need no care.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol

PATIENCE = 0.1
"""Seconds of waiting for another thread before an interrupt is heard."""

Handler = Callable[[int, FrameType | None], object]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C that work has heard, with the best that it had found; whoever has no use for that is just interrupted.

    Args:
        found: What was found.
    """

    def __init__(self, found: Sequence[Any] = ()) -> None:
        super().__init__()
        self.found = list(found)


class Lock(Protocol):
    """A lock of `threading`, reentrant or not; their types have no name in common."""

    def acquire(self, blocking: bool = ..., timeout: float = ...) -> bool:  # noqa: FBT001  as there
        """Wait for it so many seconds at most."""

    def release(self) -> None:
        """Let others have it."""


@dataclass(eq=False)
class _Block:
    """A stretch of work in which interrupts wait, and who hears them afterwards."""

    handler: Handler
    over: bool = False


class _Waiting:
    """The block in which interrupts wait now, if any, and whether one does; of the main thread."""

    block: _Block | None = None
    interrupted: bool = False

    def remember(self, _signal: int, _frame: FrameType | None) -> None:
        self.interrupted = True

    def hear(self) -> None:
        """Pass a remembered interrupt on to the handler that it was meant for; Python's own raises."""
        if self.interrupted and self.block is not None:
            self.interrupted = False
            self.block.handler(signal.SIGINT, None)


_waiting = _Waiting()


def _in_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def checkpoint() -> None:
    """Let an interrupt happen here, if one waits; whatever encloses the call may undo its work in peace."""
    if _waiting.interrupted and _in_main_thread():
        _waiting.hear()


@contextmanager
def postponed() -> Iterator[None]:
    """Let interrupts wait inside the block: for a checkpoint, or for its end."""
    handler = signal.getsignal(signal.SIGINT) if _in_main_thread() and _waiting.block is None else None
    if not callable(handler):  # another thread, a block within a block, or a process that ignores interrupts
        yield
        return
    # The order matters: an interrupt may come between any two of these lines.
    block = _Block(handler)
    _waiting.interrupted = False
    signal.signal(signal.SIGINT, _waiting.remember)
    _waiting.block = block
    try:
        yield
    finally:
        block.over = True
        if _waiting.block is block:
            _waiting.block = None
            signal.signal(signal.SIGINT, handler)
            if _waiting.interrupted:
                _waiting.interrupted = False
                handler(signal.SIGINT, None)


class _AtOnce:
    """Whoever is interrupted while a generator is entered never leaves it; Python does so later, at any time.

    So a block that is over, or whose place another one has taken, stays as it is.
    """

    def __init__(self) -> None:
        self._block: _Block | None = None

    def __enter__(self) -> None:
        block = _waiting.block if _in_main_thread() else None
        if block is None:
            return
        checkpoint()
        self._block = block
        try:
            signal.signal(signal.SIGINT, block.handler)
            _waiting.block = None  # so that a block in here, where interrupts are to wait, is one
        except BaseException:
            _waiting.block = None
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        if self._block is not None and not self._block.over and _waiting.block is None:
            signal.signal(signal.SIGINT, _waiting.remember)
            _waiting.block = self._block


def at_once() -> AbstractContextManager[None]:
    """Let interrupts happen inside the block, though it may stand in one where they wait."""
    return _AtOnce()


@contextmanager
def taken(lock: Lock) -> Iterator[None]:
    """Hold a lock inside the block. A plain `with lock` that is interrupted on its way out is never released."""
    with postponed():
        while not lock.acquire(timeout=PATIENCE):
            checkpoint()
        try:
            yield
        finally:
            lock.release()
