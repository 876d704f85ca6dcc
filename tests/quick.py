"""What contract tests share: classifiers built once, cheap settings, and short ways to views and snapshots."""

from functools import cache
from typing import Any

import torch

import fitted
import tiny
from whylight.core.encoded import Encoded, Long, Unit
from whylight.core.explanation import Explanation
from whylight.core.labels import ScoreSpace, Target
from whylight.core.registry import METHODS
from whylight.core.text import Text
from whylight.explaining.compatible import compatible, obstacle
from whylight.explaining.explain import explain
from whylight.testing.snapshot import snapshot
from whylight.testing.texts import TEXT
from whylight.views.activations import ActivationView
from whylight.views.asking import TextView
from whylight.views.classifier import Request
from whylight.views.soft import SoftPicture

__all__ = ["TEXT", "snapshot"]
"""What is shared with the checks of the package."""
FEW: dict[str, float] = {
    "samples": 40,
    "permutations": 3,
    "steps": 6,
    "tolerance": 10.0,
    "beam": 1,
    "max_evaluations": 240,
}
FEW_COALITIONS = 240
"""Of KernelSHAP, which refuses too few for the text; the longest here has 100 words."""
OF_PICTURES = {"guided_backprop", "excitation_backprop", "attention_attribution", "transition_attention_maps"}
"""Methods that ask for what classifiers of pictures alone can say."""
METHOD_NAMES = [
    name
    for name in METHODS.names()
    if name not in OF_PICTURES and not {TextView, ActivationView, SoftPicture} & set(METHODS[name].consumes)
]
"""Methods for classifiers of texts; those that ask a language model about itself, and those of pictures, have tests of
their own."""
FITTED = [name for name in METHOD_NAMES if METHODS[name].facts["given"]]
"""Methods that need something that is fitted to a classifier first."""
UNRECORDED = {
    "deberta": "'DebertaV2ForSequenceClassification'",
    "bigbird": "'BigBirdForSequenceClassification'",
    "llama": "'LlamaForSequenceClassification'",
}
"""Architectures whose layers are not on record, by the name that a refusal calls them by."""
PRE_NORM = ("modernbert", "modernbert_mean")
"""Those whose layers begin with a norm, and do not end in one."""


def works(method: str, architecture: str) -> bool:
    """Say which pairs are tested: all but methods that take layers apart where these are not on record.

    It is a statement of its own and asks no model, as tests are collected by it; `contracts/test_refused.py` holds it
    against what is found out by trying, for every pair.
    """
    layers = METHODS[method].facts["layers"]
    return layers is None or not (architecture in UNRECORDED or (layers == "post_norm" and architecture in PRE_NORM))


def removers(architecture: str) -> tuple[str, ...]:
    """Say which removers an architecture has that need nothing else; `contracts/test_removers.py` looks if it is so."""
    lacking = {"mask", "pad"} if architecture == "llama" else set()
    return tuple(name for name in ("mask", "unk", "delete", "pad", "zero") if name not in lacking)


@cache
def classifier(architecture: str = "bert", **options: Any) -> Any:
    """One classifier for all tests of a process; that it stays as it is is itself a contract."""
    return tiny.classifier(architecture, **options)


def tried(clf: Any, *methods: str) -> None:
    """Let it be found out what works, so that what a test counts or breaks afterwards is the explanation alone."""
    for name in methods or METHOD_NAMES:
        obstacle(METHODS[name], clf)
    assert clf.company in {"any", "alike"}


def cheap(method: str) -> dict[str, float]:
    """Return small values for those of a method's settings that cost time."""
    if method == "kernel_shap":
        return {"samples": FEW_COALITIONS}
    if method == "aml":
        return {"steps": 1}  # which asks the model for more than its prediction
    if method == "marc":
        return {"steps": 2}
    return {name: value for name, value in FEW.items() if name in METHODS[method].settings}


def given(method: str, clf: Any) -> dict[str, Any]:
    """Return what a method cannot do without: a folder that is fitted to the classifier."""
    return {"folder": fitted.folder(clf)} if method in FITTED else {}


def run(clf: Any, text: Any, method: str, **options: Any) -> Explanation:
    """Explain one input by one method, cheaply: no other method is asked for a sign."""
    asked = {"evidence_sign": "none", **cheap(method), **given(method, clf), **options}
    explanation: Explanation = explain(clf, text, method=method, **asked)
    return explanation


def encode(clf: Any, text: str, pair: str | None = None, *, unit: Unit = "word", long: Long = "window") -> Encoded:
    encoded: Encoded = clf.encode(Text(text, pair), unit=unit, long=long)
    return encoded


def request(clf: Any, space: ScoreSpace = "logit") -> Request:
    """Ask for all labels."""
    return Request(tuple(Target(i, name) for i, name in enumerate(clf.labels.names)), space)


def warm(clf: Any) -> Any:
    """Have a classifier tried and asked twice, as happens once, before rows are counted."""
    compatible(clf)
    explain(clf, "a good film", method="random")
    return clf


def plain_logits(clf: Any, text: str, pair: str | None = None) -> Any:
    """Return what Hugging Face alone answers, `[columns]`."""
    inputs = clf.tokenizer(text, pair, return_tensors="pt")
    with torch.no_grad():
        return clf.model(**inputs).logits[0].double().numpy()
