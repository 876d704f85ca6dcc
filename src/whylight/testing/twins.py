"""Twins of a classifier's model: one in the middle of training, and one in half precision."""

import copy
from collections.abc import Hashable
from functools import lru_cache
from typing import Any, Protocol, TypeGuard

import torch
from torch import nn

from whylight.models.load import load
from whylight.views.classifier import Classifier


class Hosted(Classifier, Hashable, Protocol):
    """A classifier whose model runs in this process.

    Attributes:
        model: The transformers model.
        tokenizer: Its tokenizer.
        engine: What puts its rows into batches.
    """

    model: Any
    tokenizer: Any
    engine: Any


def is_hosted(classifier: Classifier | None) -> TypeGuard[Hosted]:
    """Say whether the model of a classifier can be looked at."""
    return all(hasattr(classifier, name) for name in ("model", "tokenizer", "engine"))


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
    model.get_input_embeddings().register_forward_hook(lambda _module, _args, _output: None)
    modules[-1].register_forward_pre_hook(lambda _module, _args: None)
    return _twin(classifier, model)


@lru_cache(maxsize=32)
def in_half_precision(classifier: Hosted) -> Hosted:
    """Return a twin in bfloat16."""
    return _twin(classifier, copy.deepcopy(classifier.model).to(torch.bfloat16))


def last_called(classifier: Hosted, text: str) -> nn.Module:
    """Return the linear layer that is called last when a text is classified."""
    called: list[nn.Module] = []
    layers = [module for module in classifier.model.modules() if isinstance(module, nn.Linear)]
    handles = [layer.register_forward_hook(lambda module, _args, _output: called.append(module)) for layer in layers]
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):  # a model in training draws its dropout
            classifier.model(**classifier.tokenizer(text, return_tensors="pt").to(classifier.model.device))
    finally:
        for handle in handles:
            handle.remove()
    return called[-1]


def _twin(classifier: Hosted, model: Any) -> Hosted:  # noqa: ANN401  a transformers model
    return hosted(load(model, classifier.tokenizer, labels=classifier.labels.names))
