"""One at a time: whoever changes a model for a moment, or relies on nobody else doing so, holds it.

Hooks, flags and attention implementations belong to the model, not to a thread. So there is one lock for each model,
shared by all classifiers on it, and also by models that share an encoder: it belongs to the table of word embeddings.
A thread may hold what it holds already. Ctrl-C waits until the model has been put back (see `core.interruption`).

Cost: a few microseconds each time; threads that share a model take turns.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, RLock
from typing import Any
from weakref import WeakKeyDictionary

from torch import nn

from whylight.core.interruption import postponed, taken

_locks: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_guard = Lock()


@contextmanager
def held(owner: Any) -> Iterator[None]:  # noqa: ANN401  a model or a tokenizer
    """Keep other threads from a model or tokenizer for the time of a block."""
    with postponed(), taken(_lock_of(owner)):
        yield


def _lock_of(owner: Any) -> Any:  # noqa: ANN401  the type of a reentrant lock has no name
    shared = word_table(owner) if isinstance(owner, nn.Module) else None
    with taken(_guard):
        return _locks.setdefault(owner if shared is None else shared, RLock())


def word_table(model: Any) -> nn.Module | None:  # noqa: ANN401  any transformers model
    """Return the table of word embeddings, which two models have in common if they share an encoder."""
    try:
        table = model.get_input_embeddings()
    except (AttributeError, NotImplementedError):
        return None
    return table if isinstance(table, nn.Module) else None
