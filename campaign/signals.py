"""Ctrl-C as a person presses it: a signal from outside, at any instruction, in explaining and in loading.

`interrupts.py` draws lines of this package; a signal also comes inside torch, transformers and Python's own clean-ups,
and where a generator is entered. After each one Ctrl-C itself must still work: a handler that stays exchanged shows
only then. Most signals come while blocks that hold interrupts back are entered and left, over and over with nothing in
them.
"""

import gc
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from interrupts import ARCHITECTURES, Subject, changed, opened
from outcome import Outcome

import quick
import tiny
from whylight.models.holding import held
from whylight.models.load import load
from whylight.models.quiet import quiet
from whylight.models.reading import loading

SIGNALS = 5_000
EMPTY = 0.8
"""Share of signals that come while empty blocks are entered and left: there handlers change hands."""
LONG_ENOUGH = 0.002
"""Seconds for which a block is entered and left."""
SHORTEST = 1e-6
"""Seconds; a clock that is set to 0 does not run."""

Work = Callable[[], Any]


def signalled(work: Work, delay: float) -> bool:
    """Do some work, and send this process SIGINT after so many seconds; say whether that stopped the work.

    The system's clock sends it: a thread would have to wait until Python lets it run. The signal is waited for in any
    case, so that it comes no later than here.
    """
    sent = threading.Event()

    def send(*_: object) -> None:
        sent.set()
        signal.raise_signal(signal.SIGINT)

    stopped, own = True, signal.signal(signal.SIGALRM, send)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(delay, SHORTEST))
        work()
        stopped = False
        while not sent.is_set():
            time.sleep(SHORTEST)
    except KeyboardInterrupt:
        pass
    signal.signal(signal.SIGALRM, own)
    return stopped


def deaf() -> list[str]:
    """Say whether Ctrl-C has stopped working; clean-ups that Python has put off are done first."""
    gc.collect()
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return ["the handler of interrupts is not the one from before"]
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        return []
    return ["Ctrl-C does nothing any more"]


def duration(work: Work) -> float:
    """Return the seconds that some work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def emptied(block: Callable[[], AbstractContextManager[Any]]) -> Work:
    """Return the work of entering and leaving a block over and over."""

    def work() -> None:
        started = time.perf_counter()
        while time.perf_counter() - started < LONG_ENOUGH:
            with block():
                pass

    return work


def blocks(subject: Subject) -> dict[str, Work]:
    """Return the blocks that hold interrupts back, each with nothing in it."""
    named = {"held": lambda: held(subject.model), "quiet": quiet, "loading": lambda: loading("a")}
    return {f"with {name}": emptied(block) for name, block in named.items()}


def tasks(subject: Subject, folder: Path) -> dict[str, Work]:
    """Return the real work on a model that is to be interrupted: each of its methods, and reading it from a folder."""
    found: dict[str, Work] = {
        name: lambda name=name: quick.run(subject.clf, quick.TEXT, name, target="all", progress=False)  # type: ignore[misc]
        for name in subject.expected
    }
    tiny.model(subject.architecture).save_pretrained(folder)
    tiny.tokenizer(tiny.style_of(subject.architecture)).save_pretrained(folder)
    return found | {"load": lambda: load(str(folder))}


def interrupted(subject: Subject, folder: Path, count: int, chance: random.Random) -> tuple[int, list[str]]:
    """Interrupt the work on a model so many times; return how often it was stopped, and what broke."""
    real, empty, before, stopped = tasks(subject, folder), blocks(subject), quick.snapshot(subject.model), 0
    works = real | empty
    seconds = {name: duration(work) for name, work in works.items()}
    gc.freeze()  # what stands until now is not looked through after every signal
    for number in range(count):
        name = chance.choice(list(empty if chance.random() < EMPTY else real))
        delay = chance.random() * seconds[name]
        stopped += signalled(works[name], delay)
        every = number == count - 1
        found = deaf() + changed(subject if every else replace(subject, expected={}), before)
        if found:
            return stopped, [f"{name} on {subject.architecture}, after {delay:.6f} s: {one}" for one in found]
    return stopped, []


def campaign(scale: float, seed: int) -> Outcome:
    """Send signals at random times to explanations by every method and to the reading of models."""
    chance, violations, stopped = random.Random(seed), [], 0
    own = signal.signal(signal.SIGINT, signal.default_int_handler)
    chosen = ARCHITECTURES if scale >= 1 else ARCHITECTURES[:1]
    count = max(20, round(SIGNALS * scale / len(chosen)))
    try:
        for architecture in chosen:
            with tempfile.TemporaryDirectory() as folder:
                times, found = interrupted(opened(architecture), Path(folder), count, chance)
            stopped += times
            violations += found
    finally:
        gc.unfreeze()
        signal.signal(signal.SIGINT, own)
    return Outcome({"signals": count * len(chosen), "in the middle of the work": stopped}, violations)
