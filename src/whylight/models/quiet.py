"""Keeping the loaders of transformers quiet, for as long as any thread asks for it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from huggingface_hub.utils import logging as hub_logging
from transformers.utils import logging

from whylight.core.interruption import at_once, postponed, taken

_lock = threading.Lock()
_restore: list[Callable[[], None]] = []
"""What puts the loggers back; filled by the first who asks for quiet, used by the last who is done."""
_asking = 0


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the loader's bars and tables off the terminal; what they would say is checked and raised instead.

    Ctrl-C is heard inside, wherever that is. Loggers are shared by all threads: the first to come in silences them, and
    the last to leave puts them back.
    """
    with quiet_step(), at_once():
        yield


@contextmanager
def quiet_step() -> Iterator[None]:
    """Be as quiet for one step, which Ctrl-C waits for: of work that has to be put back."""
    with postponed():
        _enter()
        try:
            yield
        finally:
            _leave()


def _enter() -> None:
    global _asking  # noqa: PLW0603  loggers are global, so is the count of those who hold them
    with taken(_lock):
        if not _asking:
            verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
            of_hub = hub_logging.get_verbosity()
            _restore.append(lambda: logging.set_verbosity(verbosity))
            _restore.append(lambda: hub_logging.set_verbosity(of_hub))
            _restore.append(logging.enable_progress_bar if bars else logging.disable_progress_bar)
            logging.set_verbosity(logging.CRITICAL)  # errors are raised as well, and said once
            hub_logging.set_verbosity(logging.CRITICAL)
            logging.disable_progress_bar()
        _asking += 1


def _leave() -> None:
    global _asking  # noqa: PLW0603  as above
    with taken(_lock):
        _asking -= 1
        while not _asking and _restore:
            _restore.pop()()
