"""Loading: what works, and what is refused in one sentence that says what would."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForSequenceClassification, LlamaConfig
from transformers.utils import logging

import quick
import tiny
from whylight.core.errors import ModelError, SettingError, WhylightError
from whylight.models.load import load


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    tiny.model("bert").save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save(tiny.model("bert").state_dict(), folder / "pytorch_model.bin")


def refused(says: str, model: Any, *args: Any, kind: type[WhylightError] = ModelError, **options: Any) -> None:
    """Loading fails with one sentence that names what is wrong or what would work."""
    with pytest.raises(kind, match=says) as caught:
        load(model, *args, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message.replace(str(model), "")) < 300  # the user's own path may be of any length
    assert message.rstrip()[-1] in ".)"


@pytest.mark.parametrize("as_path", [str, Path])
def test_a_folder_gives_the_classifier_that_was_saved(saved: Path, as_path: Any) -> None:
    clf = load(as_path(saved))
    assert clf.identity == str(saved)
    expected = quick.run(quick.classifier("bert"), quick.TEXT, "occlusion")
    np.testing.assert_allclose(quick.run(clf, quick.TEXT, "occlusion").scores, expected.scores, rtol=1e-6)


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_every_architecture_survives_saving(architecture: str, tmp_path: Path) -> None:
    tiny.model(architecture).save_pretrained(tmp_path)
    tiny.tokenizer(tiny.style_of(architecture)).save_pretrained(tmp_path)
    clf = load(tmp_path)
    assert clf.limit == tiny.LIMIT  # type: ignore[attr-defined]
    expected = quick.plain_logits(quick.classifier(architecture), quick.TEXT)
    np.testing.assert_allclose(quick.plain_logits(clf, quick.TEXT), expected, rtol=1e-5)


def test_a_half_precision_checkpoint_is_read_in_single_precision(tmp_path: Path) -> None:
    tiny.model("bert").half().save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    assert load(tmp_path).model.dtype == torch.float32  # type: ignore[attr-defined]


def test_loading_leaves_the_loggers_of_transformers_as_they_were(
    saved: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    load(saved)
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == (verbosity, bars)
    assert capfd.readouterr() == ("", "")


def test_a_folder_without_a_configuration_is_refused(folder: Path) -> None:
    (folder / "config.json").unlink()
    refused("no config.json", folder)


def test_a_folder_without_weights_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    refused("no weights", folder)


def test_a_folder_without_weights_but_with_training_arguments_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "training_args.bin").write_bytes(b"")
    refused("no weights", folder)


def test_a_folder_without_a_tokenizer_is_refused(folder: Path) -> None:
    for file in folder.glob("tokenizer*"):
        file.unlink()
    refused("tokenizer", folder)  # transformers would make one up that knows no word


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("content", [b"", b"garbage", b"{"])
def test_a_broken_file_is_refused(folder: Path, file: str, content: bytes) -> None:
    (folder / file).write_bytes(content)
    refused("cannot load", folder)


def test_a_file_is_not_a_folder(folder: Path) -> None:
    refused(r"no config\.json", folder / "config.json")


def test_a_name_that_does_not_exist_is_refused() -> None:
    refused("there is no folder 'no/such-model-anywhere'. As the id of a model on the hub", "no/such-model-anywhere")


def test_pickled_weights_are_refused_unless_allowed(folder: Path) -> None:
    pickled(folder)
    refused("allow_pickle=True", folder)
    clf = load(folder, allow_pickle=True)
    expected = quick.run(quick.classifier("bert"), quick.TEXT, "occlusion")
    np.testing.assert_allclose(quick.run(clf, quick.TEXT, "occlusion").scores, expected.scores, rtol=1e-6)


def test_a_pickle_never_runs_code(folder: Path, tmp_path: Path) -> None:
    """Not even when allowed: only tensors are unpickled."""
    witness = tmp_path / "witness"

    class Payload:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (witness,)

    (folder / "model.safetensors").unlink()
    torch.save({"classifier.weight": Payload()}, folder / "pytorch_model.bin")
    refused("allow_pickle", folder)
    refused("cannot load", folder, allow_pickle=True)
    assert not witness.exists()
    torch.load(folder / "pytorch_model.bin", weights_only=False)
    assert witness.exists()  # the payload does work where it is let loose


def test_custom_code_is_never_run(folder: Path, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    (folder / "custom.py").write_text(f"from pathlib import Path\nPath({str(witness)!r}).touch()\n")
    config = json.loads((folder / "config.json").read_text())
    config["model_type"] = "home_made"
    config["auto_map"] = {"AutoConfig": "custom.C", "AutoModelForSequenceClassification": "custom.M"}
    (folder / "config.json").write_text(json.dumps(config))
    refused("cannot load", folder)
    assert not witness.exists()


def test_a_checkpoint_without_a_trained_head_is_refused(folder: Path) -> None:
    torch.manual_seed(0)
    (folder / "model.safetensors").unlink()
    AutoModel.from_config(tiny.config("bert")).save_pretrained(folder)
    refused("not a trained classifier.*classifier", folder)


def test_a_language_model_is_refused(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(tiny.config("llama"))
    refused("not a sequence classifier", model, tiny.tokenizer("llama"))
    model.save_pretrained(tmp_path)
    tiny.tokenizer("llama").save_pretrained(tmp_path)
    refused("not a trained classifier", tmp_path)


def test_a_head_of_another_size_is_refused(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = {str(i): f"L{i}" for i in range(5)}
    config["label2id"] = {f"L{i}": i for i in range(5)}
    (folder / "config.json").write_text(json.dumps(config))
    refused(r"not a trained classifier.*classifier\.weight", folder)


def test_one_logit_must_be_named() -> None:
    refused(r"head='binary' .* head='regression'", tiny.model("bert", num_labels=1), tiny.tokenizer())
    refused("one logit", tiny.model("bert"), tiny.tokenizer(), head="binary", kind=SettingError)


def test_one_logit_is_not_a_softmax() -> None:
    """Its probability would always be 1."""
    refused("binary", tiny.model("bert", num_labels=1), tiny.tokenizer(), head="softmax", kind=WhylightError)


def test_an_unknown_head_is_refused() -> None:
    refused("softmax", tiny.model("bert"), tiny.tokenizer(), head="nonsense", kind=SettingError)
    refused("softmax", len, labels=["a", "b"], head="nonsense", kind=SettingError)


def test_labels_must_fit() -> None:
    refused("3 label names", tiny.model("bert"), tiny.tokenizer(), labels=["a", "b", "c"], kind=SettingError)
    assert tiny.classifier("bert", labels=["bad", "good"]).labels.names == ("bad", "good")


@pytest.mark.parametrize("limit", [0, 7, 65, -1])
def test_max_tokens_must_fit(limit: int) -> None:
    refused("between 8 and", tiny.model("bert"), tiny.tokenizer(), max_tokens=limit, kind=SettingError)


def test_a_model_needs_its_tokenizer() -> None:
    refused(re.escape("wl.load(model, tokenizer)"), tiny.model("bert"))


def test_a_tokenizer_without_offsets_is_refused() -> None:
    class Slow:
        is_fast = False

    refused("use a fast one", tiny.model("bert"), Slow())


@pytest.mark.parametrize("thing", [3, 2.5, [1], {"a": 1}])
def test_what_is_no_model_is_refused(thing: Any) -> None:
    refused("a folder, a hub id, a model or a callable", thing)


def test_an_unknown_device_is_refused(saved: Path) -> None:
    refused("device", saved, device="nonsense", kind=WhylightError)


def test_the_limit_is_what_model_and_tokenizer_can_read() -> None:
    for architecture in tiny.ARCHITECTURES:
        assert quick.classifier(architecture).limit == tiny.LIMIT, architecture
    model = AutoModelForSequenceClassification.from_config(
        LlamaConfig(**{**tiny.SIZES, "vocab_size": len(tiny.tokenizer("llama")), "max_position_embeddings": 32})
    )
    assert load(model, tiny.tokenizer("llama")).limit == 32  # type: ignore[attr-defined]


def test_a_text_of_exactly_the_limit_is_read_at_once() -> None:
    for architecture in tiny.ARCHITECTURES:
        clf = quick.classifier(architecture)
        specials = clf.tokenizer.num_special_tokens_to_add()
        encoded = quick.encode(clf, "good " * (tiny.LIMIT - specials))
        assert len(encoded.windows) == 1
        assert np.isfinite(quick.run(clf, "good " * (tiny.LIMIT - specials), "saliency").scores).all()
        assert len(quick.encode(clf, "good " * (tiny.LIMIT - specials + 1)).windows) == 2
