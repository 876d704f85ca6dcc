"""What every corpus promises, new plug-ins included: the checks of `whylight.testing`."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from layouts import LAYOUTS

from whylight.data.registry import CORPORA
from whylight.testing import corpus_checks

GENERATED: dict[str, dict[str, object]] = {"planted": {"size": 4}, "discharge": {"size": 4}}
"""Corpora without files, with settings by which they have few records."""
WITHOUT_FILES = [(name, title) for name in CORPORA.names() for title, _ in corpus_checks(name, path=None)]
WITH_FILES = [(name, title) for name in sorted(LAYOUTS) for title, _ in corpus_checks(name, path="any")]


def absent(name: str, _subset: str | None) -> Any:
    raise FileNotFoundError(f"there is no data set {name}")


@pytest.mark.parametrize(("name", "title"), WITHOUT_FILES)
def test_it_keeps_its_promise(name: str, title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=absent))  # type: ignore[arg-type]
    dict(corpus_checks(name, settings=GENERATED.get(name)))[title]()


@pytest.mark.parametrize(("name", "title"), WITH_FILES)
def test_it_keeps_its_promise_on_files_in_its_layout(name: str, title: str, tmp_path: Path) -> None:
    layout, splits = LAYOUTS[name]
    layout(tmp_path)
    dict(corpus_checks(name, path=tmp_path, splits=splits))[title]()
