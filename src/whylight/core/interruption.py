"""Ctrl-C at a safe moment: while something has to be put back, an interrupt waits for the next step or for the end.

Python raises KeyboardInterrupt between any two instructions, also in the middle of a clean-up, which then is never
finished. Inside `postponed()` an interrupt is only remembered. It is raised by `checkpoint()`, which long work calls
between two steps, or when the block has been left. A user's own code within it runs `at_once()`, where an interrupt
is not kept waiting. Signals reach the main thread alone; other threads need no care.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Protocol

PATIENCE = 0.1
"""Seconds of waiting for another thread before an interrupt is heard."""

Handler = Callable[[int, FrameType | None], object]


class Lock(Protocol):
    """A lock of `threading`, reentrant or not; their types have no name in common."""

    def acquire(self, blocking: bool = ..., timeout: float = ...) -> bool:  # noqa: FBT001  as there
        """Wait for it so many seconds at most."""

    def release(self) -> None:
        """Let others have it."""


class _Waiting:
    """An interrupt that waits to be heard, and who would hear it; of the main thread."""

    handler: Handler | None = None
    interrupted: bool = False

    def remember(self, _signal: int, _frame: FrameType | None) -> None:
        self.interrupted = True

    def hear(self) -> None:
        """Pass a remembered interrupt on to the handler that it was meant for; Python's own raises."""
        if self.interrupted and self.handler is not None:
            self.interrupted = False
            self.handler(signal.SIGINT, None)


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
    handler = signal.getsignal(signal.SIGINT) if _in_main_thread() and _waiting.handler is None else None
    if not callable(handler):  # another thread, a block within a block, or a process that ignores interrupts
        yield
        return
    # The order matters: an interrupt may come between any two of these lines.
    _waiting.interrupted = False
    signal.signal(signal.SIGINT, _waiting.remember)
    _waiting.handler = handler
    try:
        yield
    finally:
        _waiting.handler = None
        signal.signal(signal.SIGINT, handler)
        if _waiting.interrupted:
            _waiting.interrupted = False
            handler(signal.SIGINT, None)


class _AtOnce:
    """No generator: one that is interrupted while it is entered would put its own state back long afterwards."""

    def __init__(self) -> None:
        self._handler: Handler | None = None

    def __enter__(self) -> None:
        handler = _waiting.handler if _in_main_thread() else None
        if handler is None:
            return
        checkpoint()
        self._handler = handler
        try:
            signal.signal(signal.SIGINT, handler)
            _waiting.handler = None  # so that a block in here, where interrupts are to wait, is one
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, _waiting.remember)
            _waiting.handler = self._handler


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
