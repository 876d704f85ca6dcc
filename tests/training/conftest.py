"""Shared by the tests of training."""

from pathlib import Path

import pytest

import tiny
from whylight.training import result


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny encoder to start from."""
    folder = tmp_path_factory.mktemp("start")
    tiny.model("bert", hidden_dropout_prob=0.1).save_pretrained(folder)
    tiny.tokenizer("bert").save_pretrained(folder)
    return folder


@pytest.fixture
def drawn() -> None:
    """Asked for by tests that look at the curves."""


@pytest.fixture(autouse=True)
def _undrawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Curves take longer than a tiny training: they are drawn where a test looks at them."""
    if "drawn" not in request.fixturenames:
        monkeypatch.setattr(result, "draw_curves", lambda _history: "<svg/>")
