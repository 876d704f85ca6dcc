"""ONNX files: what a classifier on one gives, and what is refused in one sentence. Real files: `test_onnx_llm.py`."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import quick
import tiny
import whylight as wl
from carriers import ANY, TinyRuntime, folder_of
from whylight.cli.main import app
from whylight.core.errors import IncompatibleError, ModelError, SettingError, WhylightError
from whylight.core.registry import METHODS
from whylight.models import onnx_reading
from whylight.models.onnx_reading import file_digest
from whylight.testing import check_classifier
from whylight.views.game import Game

GAMES = [name for name in quick.METHOD_NAMES if METHODS[name].consumes == (Game,)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_of(tmp_path)


def stand_in(monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    """Let every ONNX file be one of the tiny model."""
    monkeypatch.setattr(onnx_reading, "OnnxRuntime", lambda _file: TinyRuntime(tiny.model("bert"), **options))


def refused(says: str, *args: Any, kind: type[WhylightError] = ModelError, **options: Any) -> None:
    with pytest.raises(kind, match=says) as caught:
        wl.load(*args, **options)
    assert "\n" not in str(caught.value)


def test_without_the_package_a_sentence_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    refused(r"onnxruntime: pip install 'whylight\[onnx\]'", folder)
    found = CliRunner().invoke(app, ["explain", "a good film", "--model", str(folder / "model.onnx")])
    assert isinstance(found.exception, ModelError)
    assert found.exception.exit_code == 2


@pytest.mark.parametrize("name", ["", "model.onnx"])
def test_scores_are_those_of_the_same_network_in_torch(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    stand_in(monkeypatch)
    clf = wl.load(folder / name)
    assert clf.labels.names == ("bad", "good")
    assert clf.removers[:3] == ("mask", "unk", "delete")
    assert not {"zero", "pad"} & set(clf.removers)
    for method in GAMES:
        for remover in ("mask", "delete"):
            expected = quick.run(quick.classifier("bert"), quick.TEXT, method, remover=remover)
            found = quick.run(clf, quick.TEXT, method, remover=remover)
            np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-5, atol=1e-6)


def test_it_keeps_every_promise_of_a_classifier(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)
    check_classifier(wl.load(folder))


def test_what_needs_more_than_answers_is_refused_with_what_works(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)
    clf = wl.load(folder)
    with pytest.raises(IncompatibleError, match=r"'saliency' needs gradients, and an ONNX file gives none.*occlusion"):
        wl.explain(clf, quick.TEXT, method="saliency")
    with pytest.raises(SettingError, match=r"unknown remover for an ONNX file 'zero'.*Known: mask, unk, delete"):
        wl.explain(clf, quick.TEXT, method="occlusion", remover="zero")
    assert wl.explain(clf, quick.TEXT).provenance.method == "kernel_shap"


def test_a_pair_goes_in_with_its_types(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)
    pair = ("the film is good", "a bad plot")
    expected = wl.explain(quick.classifier("bert"), pair, method="occlusion")
    np.testing.assert_allclose(wl.explain(wl.load(folder), pair, method="occlusion").scores, expected.scores, rtol=1e-4)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"inputs": {"pixel_values": ANY}}, "wants the inputs pixel_values; the tokenizer gives input_ids, attention"),
        ({"inputs": {"input_ids": ANY, "past_key_values": ANY}}, "wants the inputs input_ids, past_key_values"),
        ({"inputs": {"attention_mask": ANY}}, "wants the inputs attention_mask"),
        ({"inputs": {"input_ids": (1, 128)}}, r"shape \[1, 128\]; export it for any number of rows and tokens"),
        ({"inputs": {"input_ids": (None, None, None)}}, r"shape \[any, any, any\]"),
        ({"outputs": {"last_hidden_state": (None, None, 32)}}, "does not return 'logits' .* 3 dimensions"),
        ({"outputs": {"first": (None, 2), "second": (None, 2)}}, "does not return 'logits'"),
    ],
)
def test_a_file_with_other_inputs_or_outputs_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], says: str
) -> None:
    stand_in(monkeypatch, **options)
    refused(says, folder)


def test_labels_must_be_those_of_the_output(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_reading, "OnnxRuntime", lambda _file: TinyRuntime(tiny.model("bert", num_labels=3)))
    refused(r"logits of shape \(1, 3\) for one text, not \(1, 2\)", folder)
    (folder / "config.json").unlink()
    assert wl.load(folder).labels.names == ("LABEL_0", "LABEL_1", "LABEL_2")
    assert wl.load(folder, labels=["a", "b", "c"]).labels.names == ("a", "b", "c")
    refused("2 label names were given for a model with 3", folder, labels=["a", "b"], kind=SettingError)


def test_one_logit_must_be_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_reading, "OnnxRuntime", lambda _file: TinyRuntime(tiny.model("bert", num_labels=1)))
    (folder / "config.json").unlink()
    refused("head='binary'", folder)
    assert wl.load(folder, head="binary").labels.names == ("not LABEL_0", "LABEL_0")


def test_a_folder_that_does_not_say_which_file_or_how_words_are_cut_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch)
    folder = folder_of(tmp_path, file="one.onnx")
    (folder / "two.onnx").write_bytes(b"x")
    refused(r"several ONNX files \(one.onnx, two.onnx\); name one", folder)
    assert wl.load(folder / "two.onnx").identity == str(folder / "two.onnx")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    refused("no tokenizer beside", folder / "two.onnx")
    assert wl.load(folder / "two.onnx", tiny.tokenizer()).removers


def test_a_file_that_reads_less_than_its_folder_says_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny.config("bert")
    config.max_position_embeddings = 2 * tiny.LIMIT
    config.save_pretrained(folder)
    stand_in(monkeypatch)
    tokenizer = tiny.tokenizer()
    tokenizer.model_max_length = 2 * tiny.LIMIT
    refused(f"cannot read {2 * tiny.LIMIT} tokens at once; pass max_tokens=", folder, tokenizer)
    assert wl.load(folder, tokenizer, max_tokens=tiny.LIMIT).limit == tiny.LIMIT  # type: ignore[attr-defined]


def test_what_makes_no_sense_for_a_file_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)
    refused("an ONNX file runs on the CPU", folder, device="cuda", kind=SettingError)
    refused("an ONNX file runs as it is", folder, accelerate="openvino", kind=SettingError)


def test_weights_of_torch_come_first_in_a_folder_with_both(folder: Path) -> None:
    tiny.model("bert").save_pretrained(folder)
    assert wl.load(folder).kind == "a Hugging Face classifier"


def test_a_file_is_known_by_what_is_in_it_and_in_those_that_it_names(folder: Path) -> None:
    file, beside = folder / "model.onnx", folder / "weights.bin"
    first = file_digest(file)
    beside.write_bytes(b"1")
    second = file_digest(file)
    beside.write_bytes(b"2")
    third = file_digest(file)
    (folder / "notes.txt").write_bytes(b"of no importance")
    assert len({first, second, third}) == 3
    assert file_digest(file) == third


def test_contents_tell_files_tokenizers_and_labels_apart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)
    own = wl.load(folder).contents()
    other = wl.load(folder, labels=["x", "y"]).contents()
    assert own is not None
    assert other is not None
    assert {name for name in own if own[name] != other[name]} == {"labels or max_tokens"}
    (folder / "model.onnx").write_bytes(b"another")
    assert wl.load(folder).contents() != own
