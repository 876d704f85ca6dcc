"""Real copies, in OpenVINO and onnxruntime: equal to the model for every length, and nobody is told of it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quick
import tiny
import whylight as wl
from whylight.core.errors import ModelError
from whylight.testing.snapshot import changed_parts, snapshot

pytestmark = pytest.mark.llm
TEXTS = ("good", quick.TEXT, "the film was never dull , but its plot is not very good and the ending drags " * 2)
COPIED = ("bert", "roberta", "distilbert", "electra", "albert", "deberta", "modernbert", "bigbird")
QUIET = """
import socket, sys
def refused(*_args, **_options):
    raise SystemExit("a socket was opened")
for name in ("connect", "connect_ex", "sendto"):
    setattr(socket.socket, name, refused)
socket.getaddrinfo = refused
import whylight as wl
clf = wl.load(accelerate="openvino")
found = wl.explain(clf, "A gripping film.", method="occlusion", progress=False)
assert "OpenVINO" in " ".join(found.provenance.notes)
assert not [name for name in sys.modules if name.startswith("openvino_telemetry")]
print("done")
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def pair_of(architecture: str, engine: str) -> tuple[Any, Any]:
    model, tokenizer = tiny.model(architecture), tiny.tokenizer(tiny.style_of(architecture))
    return wl.load(model, tokenizer, accelerate=engine), wl.load(model, tokenizer)


@pytest.mark.parametrize(("architecture", "engine"), [*((one, "openvino") for one in COPIED), ("bert", "onnx")])
def test_scores_are_those_of_torch_at_every_length_and_under_every_remover(architecture: str, engine: str) -> None:
    fast, plain = pair_of(architecture, engine)
    for text in TEXTS:
        for remover in ("mask", "delete", "pad", "zero"):
            expected = quick.run(plain, text, "kernel_shap", remover=remover, target="all").scores
            found = quick.run(fast, text, "kernel_shap", remover=remover, target="all").scores
            np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def test_pairs_are_told_apart() -> None:
    fast, plain = pair_of("bert", "openvino")
    given = ("the film is good", "a bad plot")
    expected = wl.explain(plain, given, method="occlusion").scores
    np.testing.assert_allclose(wl.explain(fast, given, method="occlusion").scores, expected, atol=1e-5)


@pytest.mark.parametrize("engine", ["openvino", "onnx"])
def test_the_model_stays_as_it_was_and_the_copy_is_found_again(cache: Path, engine: str) -> None:
    model = tiny.model("bert").train()
    before = snapshot(model)
    wl.load(model, tiny.tokenizer(), accelerate=engine)
    assert changed_parts(before, snapshot(model)) == []
    (folder,) = (cache / "whylight" / "copies").iterdir()
    files = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
    wl.load(model, tiny.tokenizer(), accelerate=engine)
    assert {file: file.stat().st_mtime_ns for file in folder.iterdir()} == files
    for file in files:
        file.write_bytes(b"damaged")
    assert wl.load(model, tiny.tokenizer(), accelerate=engine).identity
    (again,) = (cache / "whylight" / "copies").iterdir()
    assert again == folder


@pytest.mark.parametrize(
    ("architecture", "says"), [("modernbert_mean", "not finite"), ("llama", "cannot be copied to openvino")]
)
def test_what_cannot_be_copied_is_refused_in_one_sentence(architecture: str, says: str) -> None:
    with pytest.raises(ModelError, match=says) as caught:
        pair_of(architecture, "openvino")
    assert "\n" not in str(caught.value)
    assert "accelerate=" in str(caught.value)


def test_nothing_is_sent_and_nothing_said(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", QUIET], env=environment, capture_output=True, text=True, check=False)  # noqa: S603  our own words
    assert (done.stdout, done.stderr) == ("done\n", "")
    assert not (tmp_path / "intel").exists()
