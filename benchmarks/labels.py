"""Fifty labels at once: LIME for all of them from one set of coalitions, against one label after the other."""

from functools import partial

import torch
from captum.attr import Lime
from clock import Result, at_least, fastest, take_turns
from subjects import long_text, many_labels, peer_function
from torch import Tensor

from whylight.core.labels import Target
from whylight.core.text import Text
from whylight.explaining.case import open_case
from whylight.explaining.provide import game
from whylight.methods.lime import lime
from whylight.models.encoder import TransformerClassifier
from whylight.perturb.binding import bound
from whylight.views.classifier import Request

LABELS = 50
TIMED = 3
SAMPLES = 60
BATCHES = (4, 8, 16)
"""Around the size at which the bare model is fastest on rows of this length; Captum's best is looked for among them."""


def all_labels() -> list[Result]:
    """Time LIME on 300 words and 50 labels."""
    classifier, text = many_labels(LABELS), long_text()
    encoded = classifier.encode(Text(text), unit="word", long="window")
    function, n = peer_function(classifier, encoded), encoded.n_features

    def theirs(batch: int, labels: int = TIMED) -> None:
        for label in range(labels):
            torch.manual_seed(0)
            explainer = Lime(_one_label(function, label))
            explainer.attribute(torch.ones(1, n), n_samples=SAMPLES, perturbations_per_eval=batch)

    best = fastest([partial(theirs, batch, 1) for batch in BATCHES], rounds=3)
    batch = best.args[0]  # type: ignore[attr-defined]  # a partial of theirs
    turns = take_turns([partial(_ours, classifier, text), partial(theirs, batch)], rounds=3, warm_up=False)
    scale = LABELS / TIMED
    detail = (
        f"{turns.median(0):.1f} s, Captum {turns.median(1) * scale:.0f} s ({TIMED} of {LABELS} labels timed, "
        f"batch {batch}, {SAMPLES} samples); structural: one set of passes against one per label; {LABELS} is par"
    )
    return [at_least("LIME, 50 labels, Captum / ours", turns.ratio(1, 0) * scale, 30.0, detail)]


def _ours(classifier: TransformerClassifier, text: str) -> None:
    case = open_case(classifier, Text(text))
    targets = tuple(Target(i, name) for i, name in enumerate(classifier.labels.names))
    lime(game(case, Request(targets, "logit"), bound("mask")), samples=SAMPLES)


def _one_label(function: "partial[Tensor]", label: int) -> "partial[Tensor]":
    return partial(lambda present, column: function(present)[:, column], column=label)
