"""Telling a person how far long work has come, without the workers knowing who listens."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from whylight.core.interruption import checkpoint


class Listener(Protocol):
    """Whoever wants to know about steps of work: rows that go through a model, or layers that are taken apart."""

    def expect(self, steps: int) -> None:
        """Hear that so many more steps are to come."""

    def advance(self, steps: int) -> None:
        """Hear that so many more steps are done."""


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def expect(steps: int) -> None:
    """Say that some more steps are to be done."""
    listener = _listener.get()
    if listener is not None:
        listener.expect(steps)


def advance(steps: int) -> None:
    """Say that some more steps are done; between two steps an interrupt that waits is heard."""
    checkpoint()
    listener = _listener.get()
    if listener is not None:
        listener.advance(steps)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send what happens inside the block to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
