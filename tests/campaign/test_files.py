"""The campaign on data files: a short form of it finds nothing, and it would find what used to break."""

import random
from pathlib import Path
from typing import Any

import files
import pytest
from cases import data_hostile
from cases.data_layouts import Case, layouts

from whylight.core.errors import InputError
from whylight.data import _reading, _tables, _trees, load
from whylight.data.dataset import Dataset


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_hostile, "_bombs", lambda _scale: iter(()))  # they take most of the time


@pytest.mark.usefixtures("short")
def test_hostile_and_damaged_files_are_read_or_refused_in_one_sentence() -> None:
    outcome = files.campaign(0.03, 0)
    assert outcome.violations == []
    assert outcome.tried["data files"] == 391
    assert outcome.tried["readings"] == 2 * outcome.tried["data files"]


def _hand_made(name: str, tmp_path: Path) -> list[str]:
    found = next(case for case in data_hostile.cases(0.01) if case.name == name)
    found.write(tmp_path / "case")  # and with it the folder above
    (tmp_path / "outside.txt").write_text(files.SECRET, encoding="utf-8")
    return files.tried(found, tmp_path / "case")


def _recursive(tree: _trees.Tree) -> list[_trees.Tree]:
    return [tree, *(phrase for child in tree.children for phrase in _recursive(child))]


PLANTED: dict[str, tuple[Any, str, Any, str]] = {
    "sst tree 0": (_trees, "carton", _recursive, "RecursionError"),
    "eraser names ../../outside.txt": (_reading, "inside", lambda folder, name: folder / name, "outside the data"),
    "table 7.tsv": (_tables, "quotable", str, "the message"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_seen(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, what, fault, message = PLANTED[name]
    assert _hand_made(name, tmp_path / "before") == []
    monkeypatch.setattr(where, what, fault)
    assert any(message in problem for problem in _hand_made(name, tmp_path / "after"))


def test_a_hang_and_a_message_of_two_lines_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def two_lines(*_: Any, **__: Any) -> Dataset:
        raise InputError("one\ntwo.")

    def for_ever(*_: Any, **__: Any) -> Dataset:
        while True:
            pass

    case = Case("any", {})
    monkeypatch.setattr(files, "SECONDS", 1)
    monkeypatch.setattr(files, "dataset", two_lines)
    assert "the message" in files.tried(case, tmp_path)[0]
    monkeypatch.setattr(files, "dataset", for_ever)
    assert "not read within" in files.tried(case, tmp_path)[0]
    assert load.dataset is not files.dataset


def test_damage_is_the_same_for_the_same_seed() -> None:
    for layout in layouts():
        for path, content in layout.files.items():
            once, again = (files.damage(content, path, random.Random(3)) for _ in range(2))  # noqa: S311
            assert once == again
