"""How much faster than torch's own batched throughput the engine is on an exported copy, with the same scores."""

from functools import partial

import numpy as np
from clock import Result, at_most, take_turns
from engine import BATCHES, raw, rows_of
from subjects import bundled, fresh_game, long_text

import whylight as wl
from whylight.core.registry import METHODS
from whylight.models.encoder import TransformerClassifier

WORDS = {25: 20, 130: 106}
"""Words of the texts of about so many tokens."""
SAMPLES = {"occlusion": {}, "lime": {"samples": 300}, "kernel_shap": {"samples": 300}}
TARGET, SAME = 0.80, 1e-4
ROUNDS = 5


def accelerated() -> list[Result]:
    """Time three methods on OpenVINO against the bare model in torch, on the same rows."""
    plain, fast = bundled(), wl.load(accelerate="openvino")
    if not isinstance(fast, TransformerClassifier):
        raise TypeError(type(fast))
    results = []
    for tokens, words in WORDS.items():
        text = long_text(words)
        for name, settings in SAMPLES.items():

            def work(
                classifier: TransformerClassifier = fast,
                name: str = name,
                text: str = text,
                settings: dict[str, int] = settings,
            ) -> object:
                return METHODS[name].function(fresh_game(classifier, text), **settings)

            batches = rows_of(plain, partial(work, plain))
            bare = [partial(raw, plain, batches, size) for size in BATCHES]
            best = take_turns(bare, rounds=2).fastest(range(len(bare)))
            turns = take_turns([work, bare[best]], rounds=ROUNDS)
            rows = sum(len(batch) for batch in batches)
            beside = f"{turns.median(1):.2f} s of torch's bare model at its best batch, {BATCHES[best]}"
            detail = f"{rows} rows, {turns.median(0):.2f} s against {beside}"
            results += [
                at_most(f"openvino / bare torch, {name}, {tokens} tokens", turns.ratio(0, 1), TARGET, detail),
                at_most(f"scores of the two, {name}, {tokens} tokens", _apart(plain, fast, text, name, settings), SAME),
            ]
    return results


def _apart(
    plain: TransformerClassifier, fast: TransformerClassifier, text: str, name: str, settings: dict[str, int]
) -> float:
    """Return how far scores lie apart, as a share of the largest."""
    one, other = (
        wl.explain(classifier, text, method=name, progress=False, **settings).scores for classifier in (plain, fast)
    )
    return float(np.abs(one - other).max() / np.abs(one).max())
