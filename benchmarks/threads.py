"""One classifier in several threads: what the lock on a model costs, and what threads bring.

- The price: one thread with the lock against one without, where `held` does nothing.
- What threads bring: explanations a second of 1, 2 and 4 threads that share a classifier. One at a time works on a
  model, and torch has several cores at work for each: about 1 is par, and what is left is work outside the model.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from functools import partial
from unittest.mock import patch

from clock import Result, at_most, for_orientation, take_turns
from subjects import SENTENCES, bundled

import whylight as wl
from whylight.models import encoder, lookups, unchanged
from whylight.models.encoder import TransformerClassifier

METHODS = ("occlusion", "integrated_gradients", "attingrad")
THREADS = (1, 2, 4)
ROUNDS = 11
ROUNDS_OF_THREADS = 3
EACH = 8


def threads() -> list[Result]:
    """Measure both."""
    return [*_price(), *_throughput()]


def _price() -> list[Result]:
    classifier = bundled()
    works = [partial(_explain, classifier, 1), partial(_explain_freely, classifier)]
    turns = take_turns(works, rounds=ROUNDS)
    detail = f"{1000 * turns.median(0):.0f} ms for {', '.join(METHODS)}"
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


def _explain_freely(classifier: TransformerClassifier) -> None:
    """Make the same explanations, in one thread, without the lock and without care for interrupts."""
    with ExitStack() as stack:
        for module in (encoder, lookups, unchanged):
            stack.enter_context(patch.object(module, "held", lambda _owner: nullcontext()))
        _explain(classifier, 1)
