"""What contract tests share: classifiers built once, cheap settings, and short ways to views and snapshots."""

import hashlib
import random
from functools import cache
from typing import Any

import numpy as np
import torch

import tiny
from whylight.core.encoded import Encoded, Long, Unit
from whylight.core.explanation import Explanation
from whylight.core.labels import ScoreSpace, Target
from whylight.core.registry import METHODS
from whylight.core.text import Text
from whylight.explaining.compatible import compatible, obstacle
from whylight.explaining.explain import explain
from whylight.views.classifier import Request

TEXT = "The acting was good, but the plot drags!"
FEW: dict[str, float] = {"samples": 40, "permutations": 3, "steps": 6, "tolerance": 10.0}
FEW_COALITIONS = 240
"""Of KernelSHAP, which refuses too few for the text; the longest here has 100 words."""
METHOD_NAMES = METHODS.names()


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
    return {name: value for name, value in FEW.items() if name in METHODS[method].settings}


def run(clf: Any, text: Any, method: str, **options: Any) -> Explanation:
    """Explain one input by one method, cheaply."""
    explanation: Explanation = explain(clf, text, method=method, **{**cheap(method), **options})
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


def snapshot(model: Any) -> dict[str, Any]:
    """Everything about a model and the process that an explanation must leave as it was."""
    weights = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        weights.update(name.encode() + tensor.detach().contiguous().numpy().tobytes())
    module = torch.nn.modules.module
    return {
        "weights": weights.hexdigest(),
        "parameters": [(n, p.requires_grad, p.grad is None) for n, p in model.named_parameters()],
        "modules": [(n, type(m).__name__, m.training) for n, m in model.named_modules()],
        "hooks": [
            (n, table, list(value))
            for n, m in model.named_modules()
            for table, value in vars(m).items()
            if table.endswith(("_hooks", "_hooks_with_kwargs", "_hooks_always_called"))
        ],
        "attributes": [(n, sorted(vars(m))) for n, m in model.named_modules()],
        "attention": model.config._attn_implementation,
        "pad": model.config.pad_token_id,
        "config": model.config.to_json_string(use_diff=False),
        "global hooks": [
            list(module._global_forward_hooks),
            list(module._global_forward_pre_hooks),
            list(module._global_backward_hooks),
        ],
        "modes": len(torch.overrides._get_current_function_mode_stack()),
        "grad": torch.is_grad_enabled(),
        "torch random": torch.random.get_rng_state().numpy().tobytes(),
        "numpy random": str(np.random.get_state()),  # noqa: NPY002  the user's global generator is what must not move
        "python random": random.getstate(),
    }
