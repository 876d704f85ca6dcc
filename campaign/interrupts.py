"""Ctrl-C at any moment: the model, its hooks and the process are as they were, and the next explanation is right.

A moment is a line of this package or of `contextlib`, in which most clean-ups run: they are counted, and one is drawn.
"""

import inspect
import random
import signal
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from outcome import Outcome

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import quick
import tiny
import whylight as wl
from whylight.models.load import load

INTERRUPTS = 1000
WATCHED = ("whylight", "contextlib")
ARCHITECTURES = ("bert", "llama", "plm_ca", "bigbird", "modernbert")


class Moments:
    """Counts the moments of a run, lines and calls of this package, and interrupts it at one of them.

    Args:
        at: The moment, from 1; None for none.
    """

    def __init__(self, at: int | None = None) -> None:
        self.seen = 0
        self.at = at

    def __call__(self, frame: FrameType, event: str, _argument: object) -> "Moments | None":
        """Hear of a moment."""
        if not any(part in frame.f_code.co_filename for part in WATCHED):
            return None
        if event == "return" and frame.f_code.co_flags & inspect.CO_GENERATOR:
            return self  # no interrupt comes between a yield and whoever waits for it
        self.seen += 1
        if self.seen == self.at:
            signal.raise_signal(signal.SIGINT)  # does what Ctrl-C does
        return self


def explained(clf: Any, method: str, moments: Moments) -> bool:
    """Explain a text; say whether it was interrupted."""
    tracer = sys.gettrace()
    try:
        sys.settrace(moments)
        quick.run(clf, quick.TEXT, method, target="all", progress=False)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(tracer)
    return False


@dataclass(frozen=True)
class Subject:
    """A model to interrupt: what every method should say of it, and how many moments each has."""

    architecture: str
    model: Any
    clf: Any
    expected: dict[str, Any]
    moments: dict[str, int]


def opened(architecture: str) -> Subject:
    """Open a model as in the middle of training, and run every method on it once."""
    model = tiny.model(architecture).train()
    next(iter(model.parameters())).requires_grad_(requires_grad=False)
    clf = load(model, tiny.tokenizer(tiny.style_of(architecture)))
    methods = [name for name, reason in wl.compatible(clf).items() if reason is None and name != "random"]
    expected = {name: quick.run(clf, quick.TEXT, name, target="all").scores for name in methods}
    moments = {name: Moments() for name in methods}
    for name, counter in moments.items():
        explained(clf, name, counter)
    return Subject(architecture, model, clf, expected, {name: counter.seen for name, counter in moments.items()})


def changed(subject: Subject, before: dict[str, Any]) -> list[str]:
    """Say what of a model is not as it was, and which of its explanations are not."""
    after = quick.snapshot(subject.model)
    found = [f"'{key}' has changed" for key in before if before[key] != after[key]]
    for method, scores in subject.expected.items() if not found else ():
        if not np.array_equal(quick.run(subject.clf, quick.TEXT, method, target="all").scores, scores):
            found.append(f"{method} has another result afterwards")
    return found


def campaign(scale: float, seed: int) -> Outcome:
    """Interrupt every method on several models at random moments; a model that was damaged is left."""
    chance = random.Random(seed)
    count, stopped, violations = max(20, round(INTERRUPTS * scale)), 0, []
    own = signal.signal(signal.SIGINT, signal.default_int_handler)
    subjects = [opened(architecture) for architecture in ARCHITECTURES[: 5 if scale >= 1 else 2]]
    before = {subject.architecture: quick.snapshot(subject.model) for subject in subjects}
    for number in range(count):
        subject = subjects[number % len(subjects)]
        method = chance.choice(list(subject.moments))
        moment = chance.randint(1, subject.moments[method])
        stopped += explained(subject.clf, method, Moments(moment))
        every = number >= count - len(subjects)
        known = before[subject.architecture]
        found = changed(subject, known) if every else changed(replace(subject, expected={}), known)
        violations += [f"{method} on {subject.architecture}, moment {moment}: {one}" for one in found]
        if found:
            break
    if signal.signal(signal.SIGINT, own) is not signal.default_int_handler:
        violations.append("the handler of interrupts is not the one from before")
    return Outcome({"interrupts": count, "in the middle of the work": stopped}, violations)
