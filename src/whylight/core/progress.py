"""Telling a person how far long work has come, without the workers knowing who listens."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Listener(Protocol):
    """Whoever wants to know about rows that go through a model."""

    def expect(self, rows: int) -> None:
        """Hear that so many more rows are to come."""

    def advance(self, rows: int) -> None:
        """Hear that so many more rows are done."""


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def expect(rows: int) -> None:
    """Say that some more rows are to go through the model."""
    listener = _listener.get()
    if listener is not None:
        listener.expect(rows)


def advance(rows: int) -> None:
    """Say that some more rows went through the model."""
    listener = _listener.get()
    if listener is not None:
        listener.advance(rows)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send what happens inside the block to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
