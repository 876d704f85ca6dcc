"""Models and folders that cannot be explained: one sentence each, and no file outside the folder is read."""

import copy
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    BertForTokenClassification,
    ModernBertForTokenClassification,
)

import quick
import tiny
from whylight.cli.main import run
from whylight.core.errors import InputError, ModelError, SettingError, WhylightError
from whylight.explaining.evaluate import measure
from whylight.explaining.explain import explain
from whylight.models.load import load
from whylight.models.networks import PlmCaConfig
from whylight.models.prepare import prepare

ABSENT = () if torch.accelerator.is_available() else ("cuda", "mps")
"""Accelerators that this machine does not have."""


def refused(says: str, *args: Any, kind: type[WhylightError] = ModelError, **options: Any) -> str:
    with pytest.raises(kind, match=says) as caught:
        load(*args, **options)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert message[-1] in ".?"
    return message


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    tiny.model("bert").save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


@pytest.fixture
def sharded(folder: Path) -> Path:
    (folder / "model.safetensors").unlink()
    tiny.model("bert").save_pretrained(folder, max_shard_size="20KB")
    assert len(list(folder.glob("*.safetensors"))) > 2
    return folder


def edit(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def test_a_folder_of_a_token_classifier_is_refused(tmp_path: Path) -> None:
    """Its weights have the names of a sequence classifier's, and would be taken for one."""
    ModernBertForTokenClassification(tiny.config("modernbert")).save_pretrained(tmp_path)
    tiny.tokenizer(tiny.style_of("modernbert")).save_pretrained(tmp_path)
    refused("'ModernBertForTokenClassification', not a sequence classifier", tmp_path)


@pytest.mark.parametrize("device", [*ABSENT, "cuda:7", "xyz", "meta", 3.5])
def test_a_device_that_is_not_there_is_refused(saved: Path, device: Any) -> None:
    refused("device", saved, device=device, kind=WhylightError)


def test_measure_takes_one_explanation() -> None:
    clf = quick.classifier("bert")
    with pytest.raises(InputError, match="one Explanation, not a list; call it for each"):
        measure(clf, explain(clf, [quick.TEXT], method="saliency"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "names",
    [
        {0: "a", 2: "b"},
        {1: "a", 2: "b"},
        {"x": "a", "y": "b"},
        {},
        ["a", "b"],
        {0: None, 1: "b"},
        {0: "a", 1: "b", 2: "c"},
    ],
)
def test_labels_that_are_not_numbered_in_order_are_refused(names: Any, folder: Path) -> None:
    edit(folder / "config.json", id2label=names)
    assert "config.json" in refused("id2label|weights lack", folder) or len(names) == 3
    model = copy.deepcopy(tiny.model("bert"))
    model.config.__dict__["id2label"] = names
    refused("id2label|not a sequence classifier", model, tiny.tokenizer())


@pytest.mark.parametrize("value", ["x", "0.5", float("nan"), float("inf"), 1.5, -0.1, None, [], True])
def test_a_threshold_that_is_no_probability_is_refused(value: Any, folder: Path) -> None:
    edit(folder / "config.json", decision_threshold=value, problem_type="multi_label_classification")
    refused("decision_threshold is .*; it must be a number from 0 to 1", folder, kind=SettingError)
    with pytest.raises(SettingError, match="from 0 to 1"):
        PlmCaConfig(decision_threshold=value)


def test_names_that_no_file_can_have_are_refused(tmp_path: Path) -> None:
    refused("not the name of a model", "a\0b")
    refused("not the name of a model", "")
    refused("name too long", "a" * 5000)
    refused("there is no folder", tmp_path / "nowhere")
    refused(r"there is no folder '.*\\n", f"{tmp_path}/no\nwhere")
    (tmp_path / "loop").symlink_to("loop")
    refused("there is no folder", tmp_path / "loop")


def test_a_folder_that_is_loaded_in_inference_mode_can_be_differentiated(saved: Path) -> None:
    with torch.inference_mode():
        clf = load(saved)
    assert np.abs(quick.run(clf, quick.TEXT, "saliency").scores).max() > 0


@pytest.mark.parametrize("how", ["above", "absolute", "link", "link of the only file"])
def test_weights_outside_the_folder_are_refused(sharded: Path, how: str) -> None:
    index = sharded / "model.safetensors.index.json"
    first = min(sharded.glob("*.safetensors"))
    outside = sharded.parent / "outside.safetensors"
    name = {"above": "../outside.safetensors", "absolute": str(outside)}.get(how, first.name)
    shutil.move(first, outside)
    if how.startswith("link"):
        first.symlink_to(outside)
    table = json.loads(index.read_text())["weight_map"]
    edit(index, weight_map={key: name if value == first.name else value for key, value in table.items()})
    refused("leads out of the folder", sharded)


def test_weights_in_several_files_work(sharded: Path) -> None:
    expected = quick.run(quick.classifier("bert"), quick.TEXT, "saliency")
    np.testing.assert_allclose(quick.run(load(sharded), quick.TEXT, "saliency").scores, expected.scores, rtol=1e-6)
    min(sharded.glob("*.safetensors")).unlink()
    refused("weights lack the file", sharded)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"])
def test_links_out_of_the_folder_are_refused_and_links_inside_it_work(folder: Path, name: str) -> None:
    moved = folder / "inside" / name
    moved.parent.mkdir()
    shutil.move(folder / name, moved)
    (folder / name).symlink_to(moved)
    load(folder)
    outside = folder.parent / name
    shutil.move(moved, outside)
    moved.symlink_to(outside)
    refused(f"'{name}' leads out of the folder", folder)


def test_a_snapshot_of_the_hub_links_to_its_own_blobs_only(saved: Path, tmp_path: Path) -> None:
    home = tmp_path / "models--some--model"
    snapshot = home / "snapshots" / "0123abc"
    snapshot.mkdir(parents=True)
    (home / "blobs").mkdir()
    for number, file in enumerate(sorted(saved.iterdir())):
        shutil.copy(file, home / "blobs" / str(number))
        (snapshot / file.name).symlink_to(f"../../blobs/{number}")
    load(snapshot)
    (tmp_path / "link").symlink_to(snapshot)
    load(tmp_path / "link")
    (snapshot / "tokenizer.json").unlink()
    (snapshot / "tokenizer.json").symlink_to(saved / "tokenizer.json")
    refused("leads out of the folder", snapshot)


def test_files_that_the_tokenizer_names_elsewhere_are_not_read(folder: Path) -> None:
    expected = load(folder).tokenizer("good film")["input_ids"]  # type: ignore[attr-defined]
    edit(folder / "tokenizer_config.json", vocab_file="/etc/passwd", tokenizer_file="/etc/passwd")
    assert load(folder).tokenizer("good film")["input_ids"] == expected  # type: ignore[attr-defined]
    edit(folder / "tokenizer_config.json", fast_tokenizer_files=["../tokenizer.1.0.json"])
    refused("leads out of the folder", folder)


def test_attention_code_from_the_hub_is_refused(folder: Path) -> None:
    edit(folder / "config.json", _attn_implementation="someone/kernel")
    refused("custom code is never run", folder)


@pytest.mark.parametrize(
    "change", [{"vocab_size": 10**12}, {"num_hidden_layers": 10**9}, {"intermediate_size": 10**11}]
)
def test_a_configuration_of_an_impossible_size_is_refused(folder: Path, change: dict[str, int]) -> None:
    edit(folder / "config.json", **change)
    refused("numbers|up to 1000", folder)


def test_a_panic_of_the_tokenizer_is_a_sentence(folder: Path) -> None:
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"] = {"[UNK]": 1, "a": 2**40}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    refused("cannot load|ids up to", folder)


def test_a_file_that_may_not_be_read_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.read_text

    def read_text(self: Path, *args: Any, **options: Any) -> str:
        if self.name == "config.json":
            raise PermissionError(13, os.strerror(13), str(self))
        return real(self, *args, **options)

    monkeypatch.setattr(Path, "read_text", read_text)
    refused(r"config\.json cannot be read \(Permission denied\)", folder)


def test_the_command_line_says_it_in_a_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    edit(folder / "config.json", id2label={"0": "a", "2": "b"})
    monkeypatch.setattr(sys, "argv", ["whylight", "explain", "A film.", "--model", str(folder)])
    with pytest.raises(SystemExit, match=r"^2$"):
        run()
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("whylight: cannot load")
    assert len(err.splitlines()) == 1


def test_a_training_does_not_follow_names_out_of_the_folder_either(sharded: Path) -> None:
    index = sharded / "model.safetensors.index.json"
    content = json.loads(index.read_text(encoding="utf-8"))
    content["weight_map"] = dict.fromkeys(content["weight_map"], "../model.safetensors")
    index.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ModelError, match="leads out of the folder"):
        prepare(sharded, labels=["a", "b"], multi_label=False)


def test_a_training_may_start_from_a_model_of_another_task(tmp_path: Path) -> None:
    BertForTokenClassification(tiny.config("bert")).save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    assert prepare(tmp_path, labels=["a", "b"], multi_label=False).fresh
