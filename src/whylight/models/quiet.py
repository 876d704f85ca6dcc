"""Keeping the loaders of transformers quiet, for as long as any thread asks for it."""

from collections.abc import Iterator
from contextlib import contextmanager

from huggingface_hub.utils import logging as hub_logging
from transformers.utils import logging

from whylight.core.interruption import at_once
from whylight.models.shared_change import Restore, SharedChange


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the loader's bars and tables off the terminal; what they would say is checked and raised instead.

    Ctrl-C is heard inside, wherever that is. All threads share the loggers.
    """
    with quiet_step(), at_once():
        yield


@contextmanager
def quiet_step() -> Iterator[None]:
    """Be as quiet for one step, which Ctrl-C waits for: of work that has to be put back."""
    with _SILENCE.held():
        yield


def _silence() -> list[Restore]:
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    of_hub = hub_logging.get_verbosity()
    logging.set_verbosity(logging.CRITICAL)  # errors are raised as well, and said once
    hub_logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    return [
        lambda: logging.set_verbosity(verbosity),
        lambda: hub_logging.set_verbosity(of_hub),
        logging.enable_progress_bar if bars else logging.disable_progress_bar,
    ]


_SILENCE = SharedChange(_silence)
