"""Telling a person how far long work has come, without the workers knowing who listens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from whylight.core.interruption import checkpoint


class Listener(Protocol):
    """Whoever wants to know about steps of work: rows that go through a model, or layers that are taken apart."""

    def expect(self, steps: int) -> None:
        """Hear that so many more steps are to come, or fewer than was thought."""

    def advance(self, steps: int) -> None:
        """Hear that so many more steps are done."""


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_display: ContextVar[Callable[[str], None] | None] = ContextVar("display", default=None)


def hearing() -> Listener | None:
    """Return whoever listens here."""
    return _listener.get()


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


def tell(name: str, value: float) -> None:
    """Say how good it has become, by a figure such as a loss, to whoever watches."""
    display = _display.get()
    if display is not None:
        display(f"{name} {value:.4g}")


@contextmanager
def blocks(count: int) -> Iterator[Callable[[], None]]:
    """Count steps of work that is done in several alike blocks; from the first ones follows what is to come.

    Args:
        count: How many blocks there are.

    Yields:
        A function to call at the start of each block.
    """
    listener = _listener.get()
    if listener is None or count <= 1:
        yield lambda: None
        return
    inside = _Blocks(listener, count)
    with listening(inside):
        yield inside.begin


class _Blocks:
    """Tells a listener how many steps all blocks will have, if they are as those that have begun."""

    def __init__(self, listener: Listener, count: int) -> None:
        self._listener, self._count = listener, count
        self._begun = self._seen = self._said = 0

    def begin(self) -> None:
        self._begun += 1

    def expect(self, steps: int) -> None:
        self._seen += steps
        total = self._seen * self._count // max(1, self._begun)
        self._listener.expect(total - self._said)
        self._said = total

    def advance(self, steps: int) -> None:
        self._listener.advance(steps)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send what happens inside the block to a listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def telling(display: Callable[[str], None]) -> Iterator[None]:
    """Send figures of the work inside the block to a display; whoever watches around the block goes on."""
    around = _display.get()

    def both(figure: str) -> None:
        display(figure)
        if around is not None:
            around(figure)

    token = _display.set(both)
    try:
        yield
    finally:
        _display.reset(token)
