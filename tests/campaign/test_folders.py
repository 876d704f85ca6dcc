"""The campaign of model folders in its short form, and that it would see a broken promise."""

import time
from pathlib import Path
from typing import Any

import folders
import pytest
from model_folders.by_hand import BY_HAND
from model_folders.tiny import save_tiny

from whylight.core.errors import ModelError
from whylight.models import promises


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_tiny(tmp_path / "model")
    return tmp_path / "model"


def test_no_folder_breaks_a_promise() -> None:
    outcome = folders.campaign(0.04, 0)
    assert outcome.violations == []
    assert outcome.tried["model folders"] == -(-len(BY_HAND) // 25) + 6
    assert outcome.tried["of them accepted"] >= 1


def test_the_whole_campaign_has_enough_folders() -> None:
    assert len(list(folders.damages(1, 0))) == len(BY_HAND) + folders.RANDOM_FOLDERS > 300


def test_a_whole_folder_is_accepted(folder: Path) -> None:
    assert folders.tried(folder) == ""


def test_a_traceback_is_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise IndexError("index out of range")

    monkeypatch.setattr(promises, "check_promises", fails)
    assert str(folders.tried(folder)).startswith("IndexError")


def test_other_logits_are_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = folders.plain_logits
    monkeypatch.setattr(folders, "plain_logits", lambda path: real(path) * 1.01)
    assert "from those of transformers" in str(folders.tried(folder))


@pytest.mark.parametrize("wait", ["busy", "idle"])
def test_a_hang_is_seen(folder: Path, monkeypatch: pytest.MonkeyPatch, wait: str) -> None:
    def hang(_folder: Path) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            time.sleep(0.01 if wait == "idle" else 0)

    monkeypatch.setattr(folders, "IDLE", 2)
    monkeypatch.setattr(folders, "attempt", hang)
    assert folders.tried(folder, seconds=1) == "took longer than 1 s"


def test_code_that_runs_is_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def attempt(path: Path) -> None:
        BY_HAND["code"](path)
        code = path / "custom.py"
        exec(compile(code.read_text(), code, "exec"), {"__file__": str(code)})  # noqa: S102  our own canary

    monkeypatch.setattr(folders, "attempt", attempt)
    assert folders.tried(folder) == "its code was run"


def test_a_message_of_two_lines_is_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(_folder: Path) -> Any:
        raise ModelError("one\ntwo.")

    monkeypatch.setattr(folders.wl, "load", load)
    assert str(folders.tried(folder)).startswith("a message of 2 lines")
