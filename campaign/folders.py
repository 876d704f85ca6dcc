"""Hostile and odd model folders: each is refused in one sentence, or answers as transformers does.

A tiny BERT is saved, and its folder is damaged: by hand, in every way that came to mind, and at random. Each folder is
loaded, and if that works a text is explained. What breaks a promise: an error that is not ours, a message of more than
one line, more than a few seconds, code of the folder that was run, or logits that plain transformers does not give.
"""

import random
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from model_folders.at_random import damaged_at_random
from model_folders.by_hand import BY_HAND
from model_folders.tiny import save_tiny
from outcome import Outcome
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import whylight as wl
from whylight.core.errors import WhylightError
from whylight.models.quiet import quiet

RANDOM_FOLDERS = 150
SECONDS = 10
"""A folder that takes more time of the processor hangs; an ordinary one takes a tenth of a second."""
IDLE = 9
"""How many times as long it may take on a busy machine, or wait for a file that never comes."""
TEXT = "The acting was good, but the plot drags!"
TOLERANCE = 1e-5
CANARY = "canary"
"""A file in the folder above, which code in a folder would make."""

Damage = Callable[[Path], None]


class HangError(BaseException):
    """A folder took too long; no `except Exception` may swallow it."""


@contextmanager
def watchdog(seconds: int) -> Iterator[None]:
    """Interrupt what takes more than some seconds of the processor, or far more on the clock."""

    def bark(_signal: int, _frame: FrameType | None) -> None:
        raise HangError

    before = {number: signal.signal(number, bark) for number in (signal.SIGALRM, signal.SIGPROF)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(seconds * IDLE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def plain_logits(folder: Path) -> torch.Tensor:
    """Return what transformers alone answers."""
    with quiet():
        model = AutoModelForSequenceClassification.from_pretrained(folder, use_safetensors=True, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(folder)
    tokens = tokenizer(TEXT, return_tensors="pt", split_special_tokens=True)
    with torch.no_grad():
        logits: torch.Tensor = model.eval()(**tokens).logits[0].double()
    return logits


def attempt(folder: Path) -> str | None:
    """Load a folder and explain a text; return the broken promise, if any, and "" for a folder that was accepted."""
    try:
        classifier: Any = wl.load(folder)
        explanation = wl.explain(classifier, TEXT, method="input_x_gradient", target="all")
    except WhylightError as error:
        lines = len(str(error).splitlines())
        return f"a message of {lines} lines: {error}" if lines != 1 else None
    if classifier.tokenizer.num_special_tokens_to_add() + len(explanation.spans) > classifier.limit:
        return ""  # read in windows, which transformers does not have
    probabilities = torch.tensor(explanation.prediction.probabilities, dtype=torch.float64)
    plain = plain_logits(folder)
    expected = plain.softmax(-1) if classifier.labels.head == "softmax" else plain.sigmoid()
    apart = float((probabilities - expected).abs().max())
    return "" if apart <= TOLERANCE else f"probabilities are {apart:.2g} from those of transformers"


def tried(folder: Path, *, seconds: int = SECONDS) -> str | None:
    """Attempt a folder under the watchdog; whatever escapes is a broken promise."""
    try:
        with watchdog(seconds):
            found = attempt(folder)
    except HangError:
        found = f"took longer than {seconds} s"
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001  a panic of the tokenizers is no Exception
        found = f"{type(error).__name__}: {str(error)[:200]}"
    canary = folder.parent / CANARY
    if canary.exists():
        canary.unlink()
        return "its code was run"
    return found


def damages(scale: float, seed: int) -> Iterator[tuple[str, Damage]]:
    """Yield the ways to damage a folder: all that are written down, then random ones; of both a share."""
    every = list(BY_HAND.items())
    step = max(1, round(1 / scale)) if scale < 1 else 1
    yield from every[::step]
    for number in range(round(RANDOM_FOLDERS * scale)):
        yield f"random {seed}/{number}", damaged_at_random(random.Random(f"{seed}/{number}"))


def campaign(scale: float, seed: int) -> Outcome:
    """Try every folder."""
    violations, accepted, count = [], 0, 0
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place) / "whole"
        save_tiny(whole)
        for name, damage in damages(scale, seed):
            folder = Path(place) / "case" / "model"
            shutil.copytree(whole, folder)
            damage(folder)
            found = tried(folder)
            count += 1
            accepted += found == ""
            violations += [f"{name}: {found}"] if found else []
            shutil.rmtree(folder.parent)
    return Outcome({"model folders": count, "of them accepted": accepted}, violations)
