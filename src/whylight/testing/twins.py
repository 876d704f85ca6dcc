"""Twins of a classifier's model: one in the middle of training, and one in half precision."""

import copy
from collections.abc import Hashable
from functools import lru_cache
from typing import Any, Protocol, TypeGuard

import torch
from torch import nn

from whylight.models.images import ImageClassifier
from whylight.models.load import load
from whylight.models.unchanged import unchanged
from whylight.views.classifier import Classifier


class Hosted(Classifier, Hashable, Protocol):
    """A classifier whose model runs in this process.

    Attributes:
        model: The network.
        engine: What puts its rows into batches.
    """

    model: Any
    engine: Any


def is_hosted(classifier: Classifier | None) -> TypeGuard[Hosted]:
    """Say whether the model of a classifier can be looked at."""
    reads = isinstance(classifier, ImageClassifier) or hasattr(classifier, "tokenizer")
    return reads and all(hasattr(classifier, name) for name in ("model", "engine"))


def hosted(classifier: Classifier) -> Hosted:
    """Return a classifier whose model can be looked at, as `is_hosted` found."""
    if not is_hosted(classifier):
        raise TypeError(f"{classifier.kind} has no model that could be looked at.")
    return classifier


@lru_cache(maxsize=32)
def in_training(classifier: Hosted) -> Hosted:
    """Return a twin as in the middle of training: some parts frozen, some in evaluation mode, with hooks of its own."""
    model = copy.deepcopy(classifier.model).train()
    modules = list(model.modules())
    modules[len(modules) // 2].eval()
    next(iter(model.parameters())).requires_grad_(requires_grad=False)
    leaves = [module for module in modules if not [*module.children()]]
    leaves[0].register_forward_hook(lambda _module, _args, _output: None)
    modules[-1].register_forward_pre_hook(lambda _module, _args: None)
    return _twin(classifier, model)


@lru_cache(maxsize=32)
def in_half_precision(classifier: Hosted) -> Hosted:
    """Return a twin in bfloat16."""
    return _twin(classifier, copy.deepcopy(classifier.model).to(torch.bfloat16))


def last_called(classifier: Hosted, given: Any) -> nn.Module:  # noqa: ANN401  any kind of input
    """Return the linear layer that is called last when an input is classified."""
    called: list[nn.Module] = []
    layers = [module for module in classifier.model.modules() if isinstance(module, nn.Linear)]
    handles = [layer.register_forward_hook(lambda module, _args, _output: called.append(module)) for layer in layers]
    try:
        with torch.no_grad(), unchanged(classifier.model):  # a model in training draws dropout and counts its batches
            _call(classifier, given)
    finally:
        for handle in handles:
            handle.remove()
    return called[-1]


def _call(classifier: Any, given: Any) -> None:  # noqa: ANN401  one of `Hosted`, and an input that it reads
    """Run an input through a model as a user would."""
    if isinstance(classifier, ImageClassifier):
        inputs = torch.as_tensor(classifier.preparation.numbers(given.array), device=classifier.device)
        classifier.answer(inputs[None])
    else:
        classifier.model(**classifier.tokenizer(given, return_tensors="pt").to(classifier.model.device))


def _twin(classifier: Any, model: Any) -> Hosted:  # noqa: ANN401  one of `Hosted`, and a copy of its network
    if isinstance(classifier, ImageClassifier):
        own = ImageClassifier(model, classifier.preparation, labels=classifier.labels, identity=classifier.identity)
        return hosted(own)
    return hosted(load(model, classifier.tokenizer, labels=classifier.labels.names))
