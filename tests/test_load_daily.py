"""What people have at hand is loaded: pipelines, devices by name; and a folder that is mistyped is told so."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers import TextClassificationPipeline, TokenClassificationPipeline, pipeline

import quick
import tiny
from whylight.core.errors import ModelError, SettingError, WhylightError
from whylight.explaining.explain import explain
from whylight.models import devices
from whylight.models.load import load
from whylight.models.prepare import prepare

TEXT = "a good film"


def refused(says: str, *args: Any, kind: type[WhylightError] = ModelError, **options: Any) -> None:
    with pytest.raises(kind, match=says) as caught:
        load(*args, **options)
    assert "\n" not in str(caught.value)


def made(*, model: Any = None, **options: Any) -> Any:
    return pipeline(
        "text-classification", model=model or tiny.model("bert", num_labels=3), tokenizer=tiny.tokenizer(), **options
    )


def test_a_pipeline_is_explained_as_its_model_is() -> None:
    pipe = made()
    clf = load(pipe)
    expected = load(pipe.model, pipe.tokenizer)
    assert clf.labels == expected.labels
    found, plain = (explain(one, TEXT, method="occlusion") for one in (clf, expected))
    np.testing.assert_array_equal(found.scores, plain.scores)
    answer = {one["label"]: one["score"] for one in pipe(TEXT, top_k=None)}
    np.testing.assert_allclose(found.prediction.probabilities, [answer[n] for n in clf.labels.names], rtol=1e-5)


@pytest.mark.parametrize(("function", "head"), [("sigmoid", "sigmoid"), ("softmax", "softmax"), ("none", "softmax")])
def test_the_function_of_a_pipeline_is_its_head(function: str, head: str) -> None:
    pipe = made(function_to_apply=function)
    clf: Any = load(pipe)
    assert clf.labels.head == head
    if function != "none":
        answer = {one["label"]: one["score"] for one in pipe(TEXT, top_k=None)}
        found = explain(clf, TEXT, method="occlusion").prediction.probabilities
        np.testing.assert_allclose(found, [answer[name] for name in clf.labels.names], rtol=1e-5)
    assert load(pipe, head="sigmoid", labels=["x", "y", "z"]).labels.head == "sigmoid"


def test_one_logit_under_a_sigmoid_is_a_yes_or_no() -> None:
    model = tiny.model("bert", num_labels=1)
    refused("pass head='binary'", made(model=model))
    assert load(made(model=model, function_to_apply="sigmoid")).labels.head == "binary"


def test_a_pipeline_that_cuts_texts_is_read_in_windows_of_that_length() -> None:
    clf: Any = load(made(truncation=True, max_length=12))
    assert clf.network.limit == 12
    assert load(made(truncation=True, max_length=10_000)).network.limit == quick.classifier("bert").network.limit  # type: ignore[attr-defined]
    assert load(made(max_length=12), max_tokens=10).network.limit == 10  # type: ignore[attr-defined]


def test_what_a_pipeline_must_not_do_is_refused_with_what_would_work() -> None:
    class Own(TextClassificationPipeline):  # type: ignore[misc]
        """Does what it likes."""

    own = Own(model=tiny.model("bert"), tokenizer=tiny.tokenizer())
    refused(r"'Own' is of a class of its own.*wl\.load\(pipeline\.model, pipeline\.tokenizer\)", own)
    refused("hands 'add_special_tokens' to its tokenizer", made(add_special_tokens=False))
    refused("a pipeline has a tokenizer of its own", made(), tiny.tokenizer())
    refused("identity= is the name of a callable", made(), identity="x", kind=SettingError)


def test_other_kinds_of_pipelines_are_refused_with_what_would_work() -> None:
    model = transformers.BertForTokenClassification(tiny.config("bert"))
    tokens = pipeline("token-classification", model=model, tokenizer=tiny.tokenizer())
    refused(
        "a pipeline for TokenClassificationPipeline",
        TokenClassificationPipeline(model=model, tokenizer=tiny.tokenizer()),
    )
    refused("a pipeline for token-classification gives no label to a text; make one for text-classification", tokens)
    zero = transformers.ZeroShotClassificationPipeline(model=tiny.model("bert"), tokenizer=tiny.tokenizer())
    refused("asks its model about each label as a pair of texts; load what is inside", zero)


def test_a_pipeline_without_a_fast_tokenizer_is_refused() -> None:
    pipe = made()

    class Slow:
        """A tokenizer that knows no offsets."""

        is_fast = False

    pipe.tokenizer = Slow()
    refused("the tokenizer 'Slow' does not say where tokens stand in the text; use a fast one", pipe)


def test_a_model_that_is_placed_stays_where_it_is() -> None:
    model, tokenizer = tiny.model("bert"), tiny.tokenizer()
    for device in (None, "auto", "cpu"):
        clf: Any = load(model, tokenizer, device=device)
        assert clf.model is model
        assert clf.model.device == torch.device("cpu")
    assert load(made(), device="cpu") is not None


def test_another_device_than_that_of_a_placed_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_wrong_with", lambda _device: None)  # as if it were there
    model, tokenizer = tiny.model("bert"), tiny.tokenizer()
    says = r"the model is on 'cpu', and device='cuda' was asked for; .*model\.to\('cuda'\), or leave out device="
    refused(says, model, tokenizer, device="cuda", kind=SettingError)
    refused(says, made(model=model), device="cuda", kind=SettingError)
    assert next(model.parameters()).device == torch.device("cpu")
    refused("a callable runs where it runs", len, labels=["a", "b"], device="cuda", kind=SettingError)
    assert load(lambda texts: [[1.0, 0.0]] * len(texts), labels=["a", "b"], device="auto") is not None


def test_auto_is_an_accelerator_that_can_compute_or_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    assert devices.chosen_device("auto") == torch.device("cpu")
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(devices, "_wrong_with", lambda _device: None)
    assert devices.chosen_device("auto") == torch.device("cuda")
    monkeypatch.setattr(devices, "_wrong_with", lambda device: "no doubles" if device.type == "cuda" else None)
    assert devices.chosen_device("auto") == torch.device("cpu")
    with pytest.raises(SettingError, match="cannot run on the device 'cuda': no doubles; there is cpu"):
        devices.chosen_device("cuda")


@pytest.mark.skipif(torch.accelerator.is_available(), reason="there is an accelerator")
@pytest.mark.parametrize("device", ["cuda", "cuda:7", "mps", "xyz", "", "meta", 3.5, 0, 7])
def test_a_device_that_is_not_there_is_one_sentence_before_anything_is_read(device: Any) -> None:
    with pytest.raises(SettingError, match=r"device .*there is cpu\.$") as caught:
        load("/no/such/folder", device=device)
    assert "\n" not in str(caught.value)


def test_a_mistyped_folder_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-model").mkdir()
    (tmp_path / "models" / "seed-0").mkdir(parents=True)
    form = r" A hub id has the form owner/name\."
    refused(rf"^there is no folder './my-modle'; did you mean './my-model'\?{form}$", "./my-modle")
    refused(rf"no folder '{tmp_path}/my-modle/'; did you mean '{tmp_path}/my-model'\?{form}$", f"{tmp_path}/my-modle/")
    refused(r"no folder 'my modle'; did you mean 'my-model'\?", "my modle")
    refused(r"no folder 'models/sed-0'; did you mean 'models/seed-0'\? As the id of a model on the hub", "models/sed-0")
    refused(r"no folder 'my-modle'; did you mean 'my-model'\? As the id of a model on the hub", "my-modle")
    refused(rf"^there is no folder './other'\.{form}$", "./other")
    refused(rf"^there is no folder './no/where'\.{form}$", "./no/where")
    for name in ("my-modle", "./my-modle"):
        with pytest.raises(ModelError, match=r"did you mean '(\./)?my-model'\?"):
            prepare(name, labels=["a", "b"], multi_label=False)


def test_a_folder_that_is_there_is_never_taken_for_a_mistyped_one(tmp_path: Path) -> None:
    (tmp_path / "my-model").mkdir()
    refused("is not a model folder: it has no config.json", tmp_path / "my-model")
