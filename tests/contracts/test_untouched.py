"""The user's model stays as it was where more is done to it than to those that every method is checked on."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import quick
import tiny
from whylight.core.errors import IncompatibleError, ModelError
from whylight.explaining.evaluate import measure
from whylight.models.load import load

LONG = " ".join(["the film was never dull, but the plot drags"] * 9)


def in_training(architecture: str, **options: Any) -> Any:
    """A model as in the middle of training: some parts frozen, some in evaluation mode, with hooks of its own."""
    model = tiny.model(architecture, **options).train()
    modules = list(model.modules())
    modules[len(modules) // 2].eval()
    next(iter(model.parameters())).requires_grad_(requires_grad=False)
    model.get_input_embeddings().register_forward_hook(lambda _module, _args, _output: None)
    modules[-1].register_forward_pre_hook(lambda _module, _args: None)
    return model


def failing(linear: nn.Module, *, at: int) -> Callable[..., Any]:
    """A forward that raises at its n-th call."""
    calls, forward = [0], linear.forward

    def call(*args: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] >= at:
            raise RuntimeError("interrupted midway")
        return forward(*args, **options)

    return call


@pytest.mark.parametrize("method", ["occlusion", "integrated_gradients", "attention", "decompx", "deeplift"])
def test_a_model_is_left_as_it_was_where_an_error_shows_in_trying_it(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = in_training("bert")
    clf = load(model, tiny.tokenizer())
    before = quick.snapshot(model)
    last = model.classifier
    with monkeypatch.context() as patch:
        patch.setattr(last, "forward", failing(last, at=2))
        with pytest.raises(IncompatibleError, match="interrupted midway"):
            quick.run(clf, quick.TEXT, method)
    vars(last).pop("forward", None)  # as above
    after = quick.snapshot(model)
    assert {name for name in before if before[name] != after[name]} == set()


@pytest.mark.parametrize("remover", ["mask", "delete", "zero"])
def test_removers_leave_the_model_alone(remover: str) -> None:
    model = in_training("roberta")
    clf = load(model, tiny.tokenizer("roberta"))
    before = quick.snapshot(model)
    explanation = quick.run(clf, quick.TEXT, "occlusion", remover=remover)
    measure(clf, explanation, remover=remover)
    assert quick.snapshot(model) == before


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("text", [quick.TEXT, LONG], ids=["short", "long"])
@pytest.mark.parametrize("method", ["occlusion", "saliency", "deeplift"])
def test_sparse_attention_stays_sparse(method: str, text: str, *, training: bool) -> None:
    model = sparse_bigbird().train(training)
    clf = load(model, tiny.tokenizer())
    before = quick.snapshot(model)
    quick.run(clf, text, method)
    after = quick.snapshot(model)
    assert model.bert.attention_type == "block_sparse"
    assert {name for name in before if before[name] != after[name]} == set()


def test_a_decoder_without_a_padding_token_has_none_afterwards() -> None:
    model = tiny.model("llama")
    assert model.config.pad_token_id is None
    clf = load(model, tiny.tokenizer("llama"))
    quick.run(clf, quick.TEXT, "occlusion", remover="delete")
    assert model.config.pad_token_id is None
    assert clf.tokenizer.pad_token is None


def test_a_model_made_in_inference_mode_is_refused_by_that() -> None:
    with torch.inference_mode():
        model = tiny.model("bert")
    with pytest.raises(ModelError, match=r"made inside torch\.inference_mode\(\)"):
        load(model, tiny.tokenizer())


def sparse_bigbird() -> Any:
    """A BigBird whose attention is sparse on texts above 28 tokens."""
    config = tiny.config("bigbird")
    config.attention_type = "block_sparse"
    torch.manual_seed(0)
    model = tiny.AutoModelForSequenceClassification.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(8.0)
    return model.eval()
