"""LIME with infilled words, beside filling one blank of one sentence at a time, as the published code does.

The published loop asks the masked language model once per blank, about 6,000 times for 500 samples of 25 words. Ours
asks about all sentences at once, or, from left to right, about the next blank of all sentences at once, with what it
was asked before remembered. From left to right both write the same words, which is checked. The masked language model
is the bundled one.
"""

from functools import partial

import numpy as np
import torch
from clock import Result, at_least, at_most, take_turns
from subjects import bundled

import whylight as wl
from whylight.core.arrays import Bools, Floats
from whylight.core.registry import METHODS
from whylight.models.bundled_start import MASKED_NAME
from whylight.models.encoder import TransformerClassifier
from whylight.models.infill import filler_of
from whylight.views.game import Game

TEXT = (
    "the first hour is a quiet and funny story with a great lead , but then the film starts to say what we have seen ."
)
SAMPLES, LABEL, ROUNDS, BATCH = 500, 1, 3, 64
"""Of LIME; the label that is explained; turns; rows in a batch of the loop's classifier."""


def written_one_by_one(classifier: TransformerClassifier) -> Game:
    """Return the game of a loop that fills one blank of one sentence at a time, left to right."""
    masked = filler_of(classifier, MASKED_NAME).masked
    allowed = torch.as_tensor(masked.allowed(fragments=False))
    ids = torch.as_tensor(classifier.tokenizer(TEXT)["input_ids"])
    if len(ids) != len(TEXT.split()) + 2:
        raise ValueError("a word of the text has several pieces")

    def value(keep: Bools) -> Floats:
        rows = []
        with torch.inference_mode():
            for own in keep:
                row = ids.clone()
                blanks = 1 + torch.as_tensor(np.flatnonzero(~own))
                row[blanks] = masked.tokenizer.mask_token_id
                for blank in blanks.tolist():
                    logits = masked.model(input_ids=row[None]).logits[0, blank]
                    row[blank] = logits[: len(allowed)].masked_fill(~allowed, -torch.inf).argmax()
                rows.append(row)
            answers = [classifier.model(input_ids=some).logits for some in torch.stack(rows).split(BATCH)]
        scores = classifier.labels.scores(torch.cat(answers).double().numpy(), "log_odds")
        return scores[:, LABEL : LABEL + 1]

    return Game(value, n_features=len(ids) - 2)


def infill() -> list[Result]:
    """Time the loop and both orders, and hold the scores of one of them against the loop's."""
    classifier = bundled()
    game = written_one_by_one(classifier)
    loop = partial(METHODS["lime"].function, game, samples=SAMPLES)

    def ours(order: str) -> Floats:
        filler_of(classifier, MASKED_NAME).masked.known.clear()
        settings = {"infill.mode": "top1", "infill.order": order}
        found = wl.explain(classifier, TEXT, method="lime", target=LABEL, remover="infill", samples=SAMPLES, **settings)
        return found.scores

    works = (loop, partial(ours, "at_once"), partial(ours, "left_to_right"))
    turns = take_turns(works, rounds=ROUNDS, warm_up=False)
    right = loop().values
    error = float(np.abs(ours("left_to_right") - right).max() / np.abs(right).max())
    detail = f"{SAMPLES} samples, {game.n_features} words; {', '.join(f'{turns.median(i):.1f}' for i in range(3))} s"
    return [
        at_least("LIME infilled, blank by blank / all at once", turns.ratio(0, 1), 10.0, f"structural; {detail}"),
        at_least("LIME infilled, blank by blank / left to right", turns.ratio(0, 2), 1.8, detail),
        at_most("LIME infilled left to right, error against the loop", error, 1e-3),
    ]
