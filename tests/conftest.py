"""Shared by all tests: the path to `tiny`, one thread (workers share the cores, processes too), and no network."""

import gc
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["OMP_NUM_THREADS"] = "1"  # here, before torch is imported, and in processes that a test starts
sys.path.insert(0, str(Path(__file__).parent))

import pytest
from hypothesis import settings

settings.register_profile("whylight", deadline=None, max_examples=45, derandomize=True, database=None)
settings.load_profile("whylight")

LONGEST = ("training", "campaign", "findings", "run", "study", "contracts", "testing")
"""Folders with the files that take longest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no worker is left with one at the end."""

    def place(item: pytest.Item) -> int:
        folder = item.path.parent.name
        return LONGEST.index(folder) if folder in LONGEST else len(LONGEST)

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Leave what was imported out of every later collection of garbage: each training asks for one, and it is long."""
    gc.freeze()


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command line in this process; returns exit code, standard output and standard error.

    The bundled model is read and tried once, not by every command.
    """
    from whylight.cli.main import run  # noqa: PLC0415  who hands out the tests to others needs none of it
    from whylight.models import load as loading  # noqa: PLC0415

    read = loading.load

    def load(model: Any = None, **options: Any) -> Any:
        return _bundled(read) if model is None and not any(options.values()) else read(model, **options)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["whylight", *arguments])
        with pytest.raises(SystemExit) as stopped:
            run()
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out, err

    monkeypatch.setattr(loading, "load", load)
    return call


@cache
def _bundled(read: Any) -> Any:
    return read()
