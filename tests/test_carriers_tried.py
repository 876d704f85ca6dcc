"""Models that come in other wrappings: adapters of language models, placed by a map, of eight bits, of two stacks."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
from accelerate import dispatch_model
from torch import nn
from transformers import T5Config, T5ForConditionalGeneration, T5ForSequenceClassification

import quick
import tiny
import whylight as wl
from prompting import ONE, TEXT, asked, language_model, prompted, written
from whylight.core.errors import ModelError, WhylightError
from whylight.testing.tiny import enlarge

EVERY = ("occlusion", "input_x_gradient", "attention", "decompx_linear")


def adapted_language_model() -> Any:
    """A tiny language model with an adapter whose weights are far from zero."""
    torch.manual_seed(1)
    settings = {"task_type": "CAUSAL_LM", "r": 4, "target_modules": ["q_proj", "v_proj"]}
    model = peft.get_peft_model(language_model(), peft.LoraConfig(**settings))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora" in name:
                parameter.normal_(std=0.3)
    return model.eval()


def shares(model: Any) -> Any:
    """The probabilities of the labels, by a plain call."""
    tokenizer = tiny.tokenizer("llama")
    ids = tokenizer(written(asked(), TEXT), return_tensors="pt")["input_ids"]
    answers = [tokenizer(one, add_special_tokens=False)["input_ids"][0] for one in ONE.values()]
    with torch.no_grad():
        return model(input_ids=ids).logits[0, -1, answers].softmax(-1).double().numpy()


def test_a_language_model_with_an_adapter_answers_as_peft_does(tmp_path: Path) -> None:
    model, tokenizer, plain = adapted_language_model(), tiny.tokenizer("llama"), language_model()
    before = quick.snapshot(model)
    plain.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    expected = shares(model)
    for clf in (wl.load(model, tokenizer, prompt=asked()), _from_folder(model, tmp_path)):
        for method in EVERY:
            found = wl.explain(clf, TEXT, method=method, evidence_sign="none")
            assert found.prediction.probabilities == pytest.approx(expected, abs=1e-5)
            assert np.abs(found.scores).max() > 0
    assert quick.snapshot(model) == before
    assert np.abs(expected - shares(plain)).max() > 0.01


def _from_folder(model: Any, folder: Path) -> Any:
    saved = copy.deepcopy(model)
    saved.peft_config["default"].base_model_name_or_path = str(folder / "base")
    saved.save_pretrained(folder / "adapter")
    return wl.load(folder / "adapter", prompt=asked())


def test_a_model_that_is_placed_by_a_map_stays_there() -> None:
    plain = prompted()
    placed = dispatch_model(language_model(), device_map={"": "cpu"}, force_hooks=True)
    hooks = {name: module._hf_hook for name, module in placed.named_modules() if hasattr(module, "_hf_hook")}
    assert hooks
    clf = wl.load(placed, tiny.tokenizer("llama"), prompt=asked())
    for method in EVERY:
        one, other = (wl.explain(each, TEXT, method=method, evidence_sign="none").scores for each in (plain, clf))
        assert np.abs(one - other).max() < 1e-5
    assert all(module._hf_hook is hooks[name] for name, module in placed.named_modules() if name in hooks)
    with pytest.raises(ModelError, match="meta"):
        wl.load(language_model().to("meta"), tiny.tokenizer("llama"), prompt=asked())


class EightBits(nn.Module):
    """A layer whose weights are whole numbers with one scale for each row, as libraries of small weights have them."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        scale = layer.weight.detach().abs().amax(dim=1, keepdim=True) / 127
        self.register_buffer("weight", (layer.weight.detach() / scale).round().to(torch.int8))
        self.register_buffer("scale", scale)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs @ (self.weight.to(inputs.dtype) * self.scale).T


def test_weights_of_eight_bits_are_taken_as_they_are() -> None:
    model = language_model()
    for module in list(model.modules()):
        for name, layer in module.named_children():
            if isinstance(layer, nn.Linear) and name != "lm_head":
                setattr(module, name, EightBits(layer))
    before = quick.snapshot(model)
    clf = wl.load(model, tiny.tokenizer("llama"), prompt=asked())
    for method in ("occlusion", "input_x_gradient", "attention"):
        found = wl.explain(clf, TEXT, method=method, evidence_sign="none")
        assert found.prediction.probabilities == pytest.approx(shares(model), abs=1e-5)
        assert np.abs(found.scores).max() > 0
    assert {module.weight.dtype for module in model.modules() if isinstance(module, EightBits)} == {torch.int8}
    assert quick.snapshot(model) == before


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_a_model_whose_answer_depends_on_what_else_is_computed_is_refused() -> None:
    made = torch.ao.quantization.quantize_dynamic(language_model(), {nn.Linear}, dtype=torch.qint8)
    clf = wl.load(made, tiny.tokenizer("llama"), prompt=asked())
    for method in ("occlusion", "saliency"):
        with pytest.raises(WhylightError, match=r"its answer to an untouched text is .* where the model's own is"):
            wl.explain(clf, TEXT, method=method)


def t5(kind: Any) -> Any:
    tokenizer = tiny.tokenizer("roberta")
    torch.manual_seed(0)
    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 2, "num_heads": 2, "num_labels": 2}
    ends = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer("a")["input_ids"][-1]}
    config = T5Config(vocab_size=len(tokenizer), decoder_start_token_id=tokenizer.pad_token_id, **sizes, **ends)
    return enlarge(kind(config)).eval(), tokenizer


def test_a_classifier_of_two_stacks_answers_as_a_plain_call() -> None:
    model, tokenizer = t5(T5ForSequenceClassification)
    clf: Any = wl.load(model, tokenizer)
    with torch.no_grad():
        expected = model(**tokenizer(quick.TEXT, return_tensors="pt")).logits.softmax(-1)[0].numpy()
    for method in ("occlusion", "input_x_gradient"):
        found = quick.run(clf, quick.TEXT, method)
        assert found.prediction.probabilities == pytest.approx(expected, abs=1e-5)
        assert np.abs(found.scores).max() > 0


def test_a_language_model_of_two_stacks_is_not_asked_by_a_prompt() -> None:
    model, tokenizer = t5(T5ForConditionalGeneration)
    with pytest.raises(ModelError, match="give a causal language model"):
        wl.load(model, tokenizer, prompt=asked())
