"""One classifier in several threads: what the lock on a model costs, and what threads bring.

- The price: one thread with the lock against one without. The second classifier has a model of its own, first used
  while `whylight.models.unchanged` gets a lock that locks nothing: what keeps locks by model keeps that one for it.
- What threads bring: explanations a second of 1, 2 and 4 threads that share a classifier. One at a time works on a
  model, and torch has several cores at work for each: about 1 is par, and what is left is work outside the model.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Self
from unittest.mock import patch

from clock import Result, at_most, for_orientation, take_turns
from subjects import SENTENCES, bundled

import whylight as wl
from whylight.models import unchanged
from whylight.models.encoder import TransformerClassifier

METHODS = ("occlusion", "integrated_gradients", "attingrad")
THREADS = (1, 2, 4)
ROUNDS = 15
ROUNDS_OF_THREADS = 5
EACH = 8


class NoLock:
    """Looks like a lock, and locks nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Do nothing."""

    def acquire(self, *_args: object, **_settings: object) -> bool:
        """Do nothing."""
        return True

    def release(self) -> None:
        """Do nothing."""


def threads() -> list[Result]:
    """Measure both."""
    return [*_price(), *_throughput()]


def _price() -> list[Result]:
    locked, free = bundled(), bundled()
    with _without_lock() as found:
        _explain(free, 1)
    turns = take_turns([partial(_explain, locked, 1), partial(_explain, free, 1)], rounds=ROUNDS)
    detail = f"{1000 * turns.median(0):.0f} ms for {', '.join(METHODS)}"
    if not found:
        detail += "; no lock was found"
    return [at_most("lock on a model, with / without, one thread", turns.ratio(0, 1), 1.05, detail)]


def _throughput() -> list[Result]:
    classifier = bundled()
    turns = take_turns([partial(_explain, classifier, count) for count in THREADS], rounds=ROUNDS_OF_THREADS)
    texts = EACH * len(METHODS)
    return [
        for_orientation(
            f"threads on one classifier, {count} / 1, explanations a second",
            turns.ratio(0, number),
            f"{texts / turns.median(number):.1f} a second; the lock lets one thread work on the model",
        )
        for number, count in enumerate(THREADS)
        if number
    ]


def _explain(classifier: TransformerClassifier, count: int) -> None:
    """Make the same explanations with so many threads."""
    work = [(method, text) for method in METHODS for text in (SENTENCES * EACH)[:EACH]]
    with ThreadPoolExecutor(count) as pool:
        done = [pool.submit(wl.explain, classifier, text, method=method, progress=False) for method, text in work]
        for one in done:
            one.result()


@contextmanager
def _without_lock() -> Iterator[bool]:
    """Make locks that lock nothing inside the block; tells whether there is a place where locks are made."""
    named = "RLock" in vars(unchanged)
    qualified = vars(unchanged).get("threading") is threading
    shim = SimpleNamespace(**{**vars(threading), "RLock": NoLock})
    places: list[Callable[[], AbstractContextManager[object]]] = [
        (lambda: patch.object(unchanged, "RLock", NoLock)) if named else nullcontext,
        (lambda: patch.object(unchanged, "threading", shim)) if qualified else nullcontext,
    ]
    with places[0](), places[1]():
        yield named or qualified
