"""Ctrl-C at any moment: the model, its hooks and the process are as they were, and the next explanation is right.

A moment is a line of this package or of `contextlib`, in which most clean-ups run: they are counted, and one is drawn.
"""

import random
import signal
import sys
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

    def __call__(self, frame: FrameType, _event: str, _argument: object) -> "Moments | None":
        """Hear of a moment."""
        if not any(part in frame.f_code.co_filename for part in WATCHED):
            return None
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


def campaign(scale: float, seed: int) -> Outcome:
    """Interrupt every method on several models at random moments."""
    chance = random.Random(seed)
    count, stopped, violations = max(20, round(INTERRUPTS * scale)), 0, []
    before_all = signal.signal(signal.SIGINT, signal.default_int_handler)
    opened = []
    for architecture in ARCHITECTURES:
        model = tiny.model(architecture).train()
        next(iter(model.parameters())).requires_grad_(requires_grad=False)
        clf = load(model, tiny.tokenizer(tiny.style_of(architecture)))
        methods = [name for name, reason in wl.compatible(clf).items() if reason is None and name != "random"]
        expected = {name: quick.run(clf, quick.TEXT, name, target="all").scores for name in methods}
        lengths = {name: Moments() for name in methods}
        for name, moments in lengths.items():
            explained(clf, name, moments)
        opened.append((architecture, model, clf, expected, lengths))
    snapshots = [quick.snapshot(model) for _, model, *_ in opened]
    for number in range(count):
        (architecture, model, clf, _, lengths), before = (some[number % len(opened)] for some in (opened, snapshots))
        method = chance.choice(list(lengths))
        moment = chance.randint(1, lengths[method].seen)
        stopped += explained(clf, method, Moments(moment))
        after = quick.snapshot(model)
        violations += [
            f"{method} on {architecture}, moment {moment}: '{key}' has changed"
            for key in before
            if before[key] != after[key]
        ]
    for architecture, _, clf, expected, _ in opened:
        for method, scores in expected.items():
            if not np.array_equal(quick.run(clf, quick.TEXT, method, target="all").scores, scores):
                violations.append(f"{method} on {architecture}: another result after the interrupts")
    if signal.signal(signal.SIGINT, before_all) is not signal.default_int_handler:
        violations.append("the handler of interrupts is not the one from before")
    return Outcome({"interrupts": count, "in the middle of the work": stopped}, violations)
