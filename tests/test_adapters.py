"""Adapters of peft: the object or its folder answers as peft itself does, and stays as it is."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
from transformers import AutoModel

import quick
import tiny
from whylight.core.errors import ModelError
from whylight.models.load import load
from whylight.perturb.binding import bound


def adapted(architecture: str = "bert", **options: Any) -> Any:
    """A tiny classifier with an adapter whose weights are far from zero."""
    targets = {"bert": ["query", "value"], "llama": ["q_proj", "v_proj"]}[architecture]
    settings = {"task_type": "SEQ_CLS", "r": 4, "target_modules": targets, **options}
    torch.manual_seed(1)
    model = peft.get_peft_model(tiny.model(architecture, num_labels=3), peft.LoraConfig(**settings))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora" in name or "modules_to_save" in name:
                parameter.normal_(std=0.3)
    return model


def plain(model: Any, tokenizer: Any) -> Any:
    model = model.eval()
    with torch.no_grad():
        return model(**tokenizer(quick.TEXT, return_tensors="pt")).logits[0].double().numpy()


def ours(clf: Any) -> Any:
    encoded = quick.encode(clf, quick.TEXT)
    ask = clf.outcomes(encoded, removal=bound(clf.removers[0]), cache={}, meter=quick.request(clf).meter)
    return ask(np.ones((1, encoded.n_features), dtype=bool))[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An adapter with a head of its own, of three labels, on a base that has none."""
    model = adapted()
    base = tmp_path / "base"
    encoder = AutoModel.from_config(tiny.config("bert"))
    encoder.load_state_dict(tiny.model("bert", num_labels=3).bert.state_dict())
    encoder.save_pretrained(base)
    tiny.tokenizer().save_pretrained(base)
    model.peft_config["default"].base_model_name_or_path = str(base)
    model.save_pretrained(tmp_path / "adapter")
    return tmp_path / "adapter"


def refused(says: str, folder: Path) -> None:
    with pytest.raises(ModelError, match=says) as caught:
        load(folder)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("options", [{}, {"use_dora": True}, {"lora_dropout": 0.5, "bias": "all"}])
def test_an_adapted_model_answers_as_peft_does_and_stays_as_it_is(options: dict[str, Any]) -> None:
    model = adapted(**options).train()
    before = quick.snapshot(model)
    clf = load(model, tiny.tokenizer())
    quick.run(clf, quick.TEXT, "integrated_gradients")
    assert quick.snapshot(model) == before
    np.testing.assert_allclose(ours(clf), plain(model, tiny.tokenizer()), atol=1e-5)
    assert clf.identity.endswith("with adapter default")


@pytest.mark.parametrize(
    ("method", "architecture"),
    [
        (method, architecture)
        for method in ("integrated_gradients", "attention", "alti", "decompx", "decompx_linear", "occlusion")
        for architecture in ("bert", "llama")
        if quick.works(method, architecture)
    ],
)
def test_every_kind_of_method_works_on_an_adapted_model(architecture: str, method: str) -> None:
    clf = load(adapted(architecture), tiny.tokenizer(tiny.style_of(architecture)))
    assert np.abs(quick.run(clf, quick.TEXT, method).scores).max() > 0


def test_an_adapter_folder_answers_as_peft_does(folder: Path) -> None:
    clf = load(folder)
    assert clf.labels.names == ("LABEL_0", "LABEL_1", "LABEL_2")
    assert clf.identity == str(folder)
    np.testing.assert_allclose(ours(clf), plain(adapted(), tiny.tokenizer()), atol=1e-5)
    assert load(folder, labels=["a", "b", "c"]).labels.names == ("a", "b", "c")


def test_the_tokenizer_of_an_adapter_comes_first(folder: Path) -> None:
    for file in (folder.parent / "base").glob("tokenizer*"):
        shutil.move(file, folder / file.name)
    np.testing.assert_allclose(ours(load(folder)), plain(adapted(), tiny.tokenizer()), atol=1e-5)


def test_an_adapter_that_is_switched_off_is_refused() -> None:
    model = adapted()
    with model.disable_adapter(), pytest.raises(ModelError, match="switched off"):
        load(model, tiny.tokenizer())


def test_an_adapter_that_adds_tokens_is_refused() -> None:
    settings = peft.PromptTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=3)
    with pytest.raises(ModelError, match="'PROMPT_TUNING' adds tokens"):
        load(peft.get_peft_model(tiny.model("bert"), settings), tiny.tokenizer())


def test_a_head_that_neither_holds_is_refused(folder: Path) -> None:
    model = adapted(task_type="FEATURE_EXTRACTION")
    model.peft_config["default"].base_model_name_or_path = str(folder.parent / "base")
    model.save_pretrained(folder)
    refused("not a trained classifier: it and its base lack classifier", folder)


def test_adapters_are_read_from_safetensors_only(folder: Path) -> None:
    (folder / "adapter_model.safetensors").rename(folder / "adapter_model.bin")
    refused("safetensors only", folder)


def test_an_adapter_must_name_a_base_that_is_here(folder: Path) -> None:
    config = json.loads((folder / "adapter_config.json").read_text())
    for name, says in ((None, "does not name its base"), ("some/where", "base model .* missing"), (".", "base model")):
        (folder / "adapter_config.json").write_text(json.dumps({**config, "base_model_name_or_path": name}))
        refused(says, folder)


def test_an_adapter_runs_no_code(folder: Path) -> None:
    config = json.loads((folder / "adapter_config.json").read_text())
    changed = {**config, "megatron_config": {}, "megatron_core": "antigravity"}
    (folder / "adapter_config.json").write_text(json.dumps(changed))
    refused("custom code is never run", folder)


def test_without_peft_the_sentence_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    refused(r"pip install 'whylight\[peft\]'", folder)


def test_a_whole_model_beside_an_adapter_is_refused(folder: Path) -> None:
    tiny.model("bert").save_pretrained(folder)
    refused("both a whole model and an adapter", folder)
