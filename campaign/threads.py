"""One classifier in eight threads: every method gives what it gives alone, and the model stays as it was.

Each method explains its texts once one after the other, then all of them in eight threads at once, two classifiers on
one model taking turns. Scores may differ by rounding alone; flags, hooks and settings of the model not at all.
"""

import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from outcome import Outcome

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import quick
import tiny
import whylight as wl
from whylight.models.load import load

THREADS, TEXTS = 8, 64
ROUNDING = 1e-5
MODELS: dict[str, Callable[[], Any]] = {
    "the bundled model": lambda: (wl.load().model, wl.load().tokenizer),
    "a decoder": lambda: (tiny.model("llama"), tiny.tokenizer("llama")),
    "label attention over chunks": lambda: (tiny.model("plm_ca"), tiny.tokenizer()),
    "sparse attention": lambda: (tiny.model("bigbird"), tiny.tokenizer()),
}


def texts(count: int, chance: random.Random) -> list[str]:
    """Return short texts, no two alike."""
    words = [word for word in tiny.WORDS if word.isalpha()]
    return [" ".join(chance.choices(words, k=3 + number % 6)) + f" {number}" for number in range(count)]


def different(one: Any, other: Any) -> bool:
    """Say whether two explanations of the same question differ by more than rounding."""
    size = max(1.0, float(np.abs(other.scores).max()))
    same = one.scores.shape == other.scores.shape and np.allclose(
        one.scores, other.scores, rtol=0, atol=ROUNDING * size
    )
    return not same or one.provenance.forward_passes != other.provenance.forward_passes


def campaign(scale: float, seed: int) -> Outcome:
    """Try every method on every model."""
    inputs = texts(max(THREADS, round(TEXTS * scale)), random.Random(seed))
    calls, violations = 0, []
    for name, opened in MODELS.items() if scale >= 1 else list(MODELS.items())[1:2]:
        model, tokenizer = opened()
        model.train()
        next(iter(model.parameters())).requires_grad_(requires_grad=False)
        both = [load(model, tokenizer), load(model, tokenizer)]
        methods = [method for method, reason in wl.compatible(both[0]).items() if reason is None]
        methods = methods if scale >= 1 else methods[::2]
        before = quick.snapshot(model)
        alone = {method: [quick.run(both[0], text, method) for text in inputs] for method in methods}
        for method in methods:
            with ThreadPoolExecutor(THREADS) as pool:
                jobs = [pool.submit(quick.run, both[i % 2], text, method) for i, text in enumerate(inputs)]
                for text, expected, job in zip(inputs, alone[method], jobs, strict=True):
                    error = job.exception()
                    if error is not None:
                        violations.append(f"{method} on {name}, '{text}': {type(error).__name__}: {error}")
                    elif different(job.result(), expected):
                        violations.append(f"{method} on {name}, '{text}': another result than alone")
            calls += len(inputs)
        after = quick.snapshot(model)
        violations += [f"{name}: '{key}' has changed" for key in before if before[key] != after[key]]
    return Outcome({"explanations": calls, "threads": THREADS, "methods": len(wl.compatible(wl.load()))}, violations)
