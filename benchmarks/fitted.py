"""A fitted network: what explaining by it costs beside bare passes, and finetuning of heads beside that of all weights.

The explained model is the bundled one, the network starts from its own encoder, as large as the model: what it says
does not matter here. Finetuning is of 64 sentences, 10 steps each: encoder and head text by text, heads text by text,
and heads of all texts together. `python benchmarks/fitted.py`; not part of `make bench`.
"""

import itertools
import sys
import tempfile
from typing import Any

import torch
from clock import Result, at_most, for_orientation, take_turns
from subjects import SENTENCES, bundled

import whylight as wl
from whylight.models.encoder import TransformerClassifier
from whylight.models.fitting import new_attributor
from whylight.models.networks.attribution import AttributionNetwork
from whylight.models.quiet import quiet
from whylight.views.attributor import DualMask

TEXTS, STEPS, ROUNDS = 64, 10, 3
STARTS = ("", "Well, ", "Honestly, ", "To my surprise: ", "In short: ", "Once again: ", "As they say: ")


def texts() -> list[str]:
    """Return distinct sentences."""
    pairs = itertools.product(STARTS, SENTENCES, ("", " So there."))
    return [f"{start}{sentence}{end}" for start, sentence, end in pairs][:TEXTS]


def bare(classifier: TransformerClassifier, network: AttributionNetwork, several: list[str]) -> None:
    """Run one pass of the model and one of the network per text, and nothing else."""
    told = torch.full((1, 2), 0.5)
    with torch.no_grad():
        for text in several:
            given = classifier.tokenizer(text, return_tensors="pt")
            classifier.model(**given)
            network(given["input_ids"], given["attention_mask"], told, given["token_type_ids"])


def fitted() -> list[Result]:
    """Time passes, and three ways to finetune."""
    classifier, several = bundled(), texts()
    found = new_attributor(classifier, None, mask=DualMask(), metric="comprehensiveness", seed=0)
    with tempfile.TemporaryDirectory() as folder:
        with quiet():
            found.network.save_pretrained(folder)
            found.tokenizer.save_pretrained(folder)

        def explain(given: list[str], **settings: object) -> None:
            options: dict[str, Any] = {"evidence_sign": "none", "progress": False, **settings}
            wl.explain(classifier, given, method="aml", folder=folder, **options)

        def one_by_one(trainable: str) -> None:
            for text in several:
                explain([text], steps=STEPS, trainable=trainable)

        passes = take_turns([lambda: explain(several), lambda: bare(classifier, found.network, several)], rounds=ROUNDS)
        works = (
            lambda: one_by_one("all"),
            lambda: one_by_one("head"),
            lambda: explain(several, steps=STEPS, trainable="head"),
        )
        tuned = take_turns(works, rounds=ROUNDS, warm_up=False)
    detail = f"{TEXTS} texts, {STEPS} steps: {', '.join(f'{tuned.median(i):.1f}' for i in range(3))} s"
    return [
        at_most("aml / a pass of the model and one of the network", passes.ratio(0, 1), 1.2, f"{TEXTS} texts"),
        at_most("heads together / all weights, text by text", tuned.ratio(2, 0), 1 / 8, detail),
        for_orientation("heads together / heads, text by text", tuned.ratio(2, 1), detail),
    ]


if __name__ == "__main__":
    torch.set_num_threads(2)
    results = fitted()
    for line in results:
        print(f"{line.name}: {line.value:.3g} ({line.target}, {'met' if line.met else 'MISSED'}); {line.detail}")
    sys.exit(0 if all(line.met for line in results) else 1)
