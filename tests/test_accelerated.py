"""Answers from an exported copy: the same function, or refused. Real exports: `test_accelerated_llm.py`."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import quick
import tiny
import whylight as wl
from carriers import TinyRuntime
from prompting import ONE, asked, language_model
from whylight.cli.main import app
from whylight.core.errors import ModelError, SettingError, WhylightError
from whylight.models import accelerated, copies, runtimes
from whylight.testing import check_classifier
from whylight.testing.snapshot import changed_parts, snapshot

LONG = "the film was never dull , but its plot is not very good and the ending of this movie drags " * 2


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[TinyRuntime]:
    """The copies that were made, each of which asks a copy of the model."""
    found: list[TinyRuntime] = []

    def open_copy(model: Any, *_args: Any, **_options: Any) -> TinyRuntime:
        found.append(TinyRuntime(model))
        return found[-1]

    monkeypatch.setattr(accelerated, "open_copy", open_copy)
    return found


def fast(architecture: str = "bert", **options: Any) -> Any:
    return wl.load(
        tiny.model(architecture), tiny.tokenizer(tiny.style_of(architecture)), accelerate="openvino", **options
    )


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
@pytest.mark.parametrize("remover", ["mask", "delete", "pad"])
def test_scores_are_those_of_the_model(made: list[TinyRuntime], architecture: str, remover: str) -> None:
    clf = fast(architecture)
    expected = quick.run(quick.classifier(architecture), quick.TEXT, "occlusion", remover=remover)
    before = made[0].calls
    found = quick.run(clf, quick.TEXT, "occlusion", remover=remover)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-5, atol=1e-6)
    assert made[0].calls > before


def test_it_keeps_every_promise_of_a_classifier(made: list[TinyRuntime]) -> None:
    check_classifier(fast())
    assert made


def test_the_receipt_names_the_copy(made: list[TinyRuntime]) -> None:
    notes = quick.run(fast(), quick.TEXT, "occlusion").provenance.notes
    assert any(made[0].name in note and "of the largest logit" in note for note in notes)
    assert not any("copy" in note for note in quick.run(quick.classifier(), quick.TEXT, "occlusion").provenance.notes)


def test_a_receipt_does_not_depend_on_what_was_explained_before(made: list[TinyRuntime]) -> None:
    """The texts of a corpus are shared by workers, in any order: rows must be the same bytes whoever made them."""
    alone = quick.run(fast(), quick.TEXT, "occlusion").provenance.notes
    clf = fast()
    made[-1].error = 1e-6
    quick.run(clf, LONG, "occlusion")
    assert quick.run(clf, quick.TEXT, "occlusion").provenance.notes == alone


def test_a_folder_knows_whether_a_copy_answers(made: list[TinyRuntime]) -> None:
    assert fast().contents() == {**quick.classifier().contents(), "accelerate": "openvino"}
    assert made


@pytest.mark.parametrize(("method", "remover"), [("saliency", None), ("attention", None), ("occlusion", "zero")])
def test_gradients_traces_and_zeroed_embeddings_come_from_the_model(
    made: list[TinyRuntime], method: str, remover: str | None
) -> None:
    clf = quick.warm(fast())
    quick.run(clf, quick.TEXT, "occlusion")
    made[0].model = tiny.model("bert", seed=1)  # from here on, whatever the copy says is wrong
    options = {"target": "all"} if remover is None else {"target": "all", "remover": remover}
    expected = quick.run(quick.classifier("bert"), quick.TEXT, method, **options)
    scores = [one.scores for one in (quick.run(clf, quick.TEXT, method, **options), expected)]
    if remover is not None:  # nothing is zeroed in the untouched text, from which each score is a difference
        scores = [own - own[:, :1] for own in scores]
    np.testing.assert_allclose(*scores, rtol=1e-4, atol=1e-6)
    wrong, right = (quick.run(one, quick.TEXT, "occlusion", target="all") for one in (clf, quick.classifier("bert")))
    assert np.abs(wrong.scores - right.scores).max() > 0.01


@pytest.mark.parametrize("error", [1e-3, float("nan")])
def test_a_copy_that_answers_differently_is_refused(monkeypatch: pytest.MonkeyPatch, error: float) -> None:
    monkeypatch.setattr(accelerated, "open_copy", lambda model, *_, **__: TinyRuntime(model, error=error))
    with pytest.raises(ModelError, match=r"in a stand-in 1.0 is not the model: they differ by"):
        fast()


def test_a_copy_that_is_wrong_for_longer_texts_is_refused_when_one_comes(made: list[TinyRuntime]) -> None:
    clf = fast()
    quick.run(clf, quick.TEXT, "occlusion")
    made[0].error, made[0].after = 0.1, 40
    quick.run(clf, quick.TEXT, "occlusion")
    with pytest.raises(ModelError, match="is not the model"):
        quick.run(clf, LONG, "occlusion")


def _fused(weight: Any) -> None:
    weight.grad = torch.ones_like(weight) * torch.tensor([[1.0], [-1.0]])
    torch.optim.AdamW([weight], lr=0.1, fused=True).step()  # what the Trainer of transformers takes by default


def _counted(weight: Any) -> None:
    with torch.no_grad():
        weight.mul_(2)


CHANGES: dict[str, Callable[[Any], Any]] = {
    "counted by torch": lambda model: _counted(model.classifier.weight),
    "not counted": lambda model: model.classifier.weight.data.mul_(2),
    "a part of a large one": lambda model: model.bert.encoder.layer[1].output.dense.weight.data[:8].zero_(),
    "by a fused optimiser": lambda model: _fused(model.classifier.weight),
    "by a hook": lambda model: model.bert.encoder.layer[0].register_forward_hook(lambda *given: given[2] * 0.5),
}


@pytest.mark.parametrize("how", CHANGES)
def test_a_model_that_has_changed_has_no_copy_any_more(
    made: list[TinyRuntime], how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accelerated, "SMALL", 100)
    clf = fast()
    quick.run(clf, quick.TEXT, "occlusion")
    CHANGES[how](clf.model)
    with pytest.raises(ModelError, match="load the model anew if its weights have changed"):
        quick.run(clf, quick.TEXT, "occlusion")
    assert len(made) == 1


def test_the_model_stays_as_it_was(made: list[TinyRuntime]) -> None:
    model = tiny.model("bert").train()
    before = snapshot(model)
    quick.run(wl.load(model, tiny.tokenizer(), accelerate="openvino"), quick.TEXT, "occlusion")
    assert made
    assert changed_parts(before, snapshot(model)) == []


def test_a_randomised_twin_is_not_answered_by_the_copy(made: list[TinyRuntime]) -> None:
    clf = fast()
    twin = clf.with_model(tiny.model("bert", seed=1), identity="twin")
    before = made[0].calls
    found = quick.run(twin, quick.TEXT, "occlusion")
    assert made[0].calls == before
    assert not any("copy" in note for note in found.provenance.notes)


def _prompted() -> Any:
    return wl.load(language_model(), tiny.tokenizer("llama"), prompt=asked(ONE), accelerate="onnx")


@pytest.mark.parametrize(
    ("load", "says"),
    [
        (lambda: fast("plm_ca"), "one that reads chunks runs as it is"),
        (_prompted, "a prompted language model runs as it is"),
        (lambda: wl.load(len, labels=["a", "b"], accelerate="onnx"), "a callable runs as it is"),
        (lambda: wl.load(accelerate="tensorrt"), "unknown package to accelerate with 'tensorrt'.*openvino, onnx"),
    ],
)
def test_what_has_no_copy_is_refused(load: Any, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        load()


@pytest.mark.parametrize(("engine", "package"), [("openvino", "openvino"), ("onnx", "onnxruntime")])
def test_without_the_package_a_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, engine: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    says = rf"accelerate='{engine}' needs {package}: pip install 'whylight\[{engine}\]'"
    with pytest.raises(ModelError, match=says):
        wl.load(tiny.model("bert"), tiny.tokenizer(), accelerate=engine)
    found = CliRunner().invoke(app, ["explain", "a good film", "--accelerate", engine])
    assert isinstance(found.exception, WhylightError)
    assert package in str(found.exception)


def test_openvino_is_imported_without_what_reports_on_its_users(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def import_module(name: str) -> Any:
        seen.append(sys.modules.get(runtimes.TELEMETRY, "free") is None)
        return name

    monkeypatch.setattr(importlib, "import_module", import_module)
    monkeypatch.delitem(sys.modules, "openvino", raising=False)
    monkeypatch.delitem(sys.modules, runtimes.TELEMETRY, raising=False)
    assert runtimes.openvino() == "openvino"  # type: ignore[comparison-overlap]
    assert seen == [True]
    assert runtimes.TELEMETRY not in sys.modules


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Exports that write a word, and openers that read it; the list says what was done."""
    done: list[str] = []

    def export(model: Any, _example: Any, file: Path, **_options: Any) -> None:
        done.append("export")
        file.write_text("whole")
        assert model is not None

    def opened(model: Any) -> Any:
        def opener(file: Path) -> TinyRuntime:
            if file.read_text() != "whole":
                raise ModelError("damaged.")
            done.append("open")
            return TinyRuntime(model)

        return opener

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(copies, "_export", export)
    monkeypatch.setattr(copies, "needed", lambda *_, **__: torch)
    monkeypatch.setattr(copies, "OPENERS", {"onnx": opened(tiny.model("bert"))})
    yield done
    assert not [one for one in (tmp_path / "cache" / "whylight" / "copies").iterdir() if one.name.startswith(".")]


def test_a_copy_is_written_once_for_the_same_weights(cached: list[str], tmp_path: Path) -> None:
    for _ in range(2):
        wl.load(tiny.model("bert"), tiny.tokenizer(), accelerate="onnx")
    assert cached == ["export", "open", "open"]
    (folder,) = (tmp_path / "cache" / "whylight" / "copies").iterdir()
    (folder / "model.onnx").write_text("half")
    wl.load(tiny.model("bert"), tiny.tokenizer(), accelerate="onnx")
    assert cached[3:] == ["export", "open"]
    with pytest.raises(ModelError, match="is not the model"):  # its own copy says what the first did
        wl.load(tiny.model("bert", seed=1), tiny.tokenizer(), accelerate="onnx")
    assert cached[5:] == ["export", "open"]


def test_an_export_that_fails_midway_leaves_nothing(
    cached: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_model: Any, _example: Any, file: Path, **_options: Any) -> None:
        file.write_text("half")
        raise ModelError("no such operator.")

    monkeypatch.setattr(copies, "_export", fails)
    with pytest.raises(ModelError, match="no such operator"):
        wl.load(tiny.model("bert"), tiny.tokenizer(), accelerate="onnx")
    assert not list((tmp_path / "cache" / "whylight" / "copies").iterdir())
    assert not cached


def test_of_two_who_write_the_same_copy_the_first_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "copies" / "one"

    def fill(place: Path) -> None:
        (place / "model.xml").write_text("second")
        folder.mkdir()
        (folder / "model.xml").write_text("first")

    copies._write(folder, fill)
    assert (folder / "model.xml").read_text() == "first"
    assert [one.name for one in folder.parent.iterdir()] == ["one"]


def test_a_cache_that_cannot_be_written_is_said_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cached: list[str]
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(ModelError, match=r"cannot write a copy of the model to .*: Not a directory"):
        wl.load(tiny.model("bert"), tiny.tokenizer(), accelerate="onnx")
    assert not cached
    (tmp_path / "cache" / "whylight" / "copies").mkdir(parents=True)


def test_the_cache_is_where_the_user_has_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert runtimes.cache_folder() == tmp_path / "whylight"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which the standard says to ignore
    assert runtimes.cache_folder() == Path.home() / ".cache" / "whylight"
