"""How close the engine comes to the model's own best batched throughput on the same distinct rows."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from clock import Result, at_least, at_most, take_turns
from subjects import bundled, fresh_game, long_text

from whylight.core.registry import METHODS
from whylight.models.encoder import TransformerClassifier
from whylight.views.tokens import TokenBatch

BATCHES = (4, 8, 16, 32)
SAMPLES = 500
OCCLUDED_WORDS = 120
MEDIUM_WORDS = 40
DELETE_SAMPLES = 200
ROUNDS = 5


def rows_of(classifier: TransformerClassifier, work: Callable[[], object]) -> list[TokenBatch]:
    """Record the batches that some work sends through the model."""
    batches: list[TokenBatch] = []
    forward = classifier.engine._forward  # noqa: SLF001  the benchmark looks under the bonnet on purpose
    classifier.engine._forward = lambda rows: batches.append(rows) or forward(rows)  # type: ignore[func-returns-value]  # noqa: SLF001
    try:
        work()
    finally:
        classifier.engine._forward = forward  # noqa: SLF001
    return batches


def raw(classifier: TransformerClassifier, batches: list[TokenBatch], size: int) -> None:
    """Run the same rows through the bare model, longest first, in batches of a fixed size."""
    width = max(rows.ids.shape[1] for rows in batches)
    ids = np.concatenate([np.pad(rows.ids, ((0, 0), (0, width - rows.ids.shape[1]))) for rows in batches])
    lengths = np.concatenate([rows.lengths for rows in batches])
    order = np.argsort(-lengths, kind="stable")
    with torch.inference_mode():
        for start in range(0, len(order), size):
            some = order[start : start + size]
            longest = int(lengths[some[0]])
            batch = torch.as_tensor(ids[some, :longest])
            mask = torch.arange(longest) < torch.as_tensor(lengths[some])[:, None]
            classifier.model(input_ids=batch, attention_mask=mask.long())


def overhead() -> list[Result]:
    """Time three methods against the bare model."""
    classifier, results = bundled(), []
    cases = (
        ("occlusion", long_text(OCCLUDED_WORDS), {}),
        ("lime", long_text(MEDIUM_WORDS), {"samples": SAMPLES}),
        ("kernel_shap", long_text(MEDIUM_WORDS), {"samples": SAMPLES}),
    )
    for name, text, settings in cases:

        def work(name: str = name, text: str = text, settings: dict[str, int] = settings) -> object:
            return METHODS[name].function(fresh_game(classifier, text), **settings)

        batches = rows_of(classifier, work)
        bare = [partial(raw, classifier, batches, size) for size in BATCHES]
        best = take_turns(bare, rounds=2).fastest(range(len(bare)))
        turns = take_turns([work, bare[best]], rounds=ROUNDS)
        rows = sum(len(batch) for batch in batches)
        beside = f"{turns.median(1):.2f} s of the bare model at its best batch, {BATCHES[best]}"
        detail = f"{rows} rows, {turns.median(0):.2f} s against {beside}"
        results.append(at_most(f"engine / bare model, {name}", turns.ratio(0, 1), 1.15, detail))
    return results


def shorter_costs_less() -> list[Result]:
    """Time LIME with deletion, which shortens the input, against LIME with mask tokens."""
    classifier, text = bundled(), long_text()
    lime = METHODS["lime"].function
    works = [
        lambda remover=remover: lime(fresh_game(classifier, text, remover=remover), samples=DELETE_SAMPLES)
        for remover in ("mask", "delete")
    ]
    turns = take_turns(works, rounds=3)
    detail = f"{turns.median(0):.2f} s / {turns.median(1):.2f} s; structural: deletion leaves half the tokens"
    return [at_least("LIME, mask / delete, 300 words", turns.ratio(0, 1), 1.7, detail)]
