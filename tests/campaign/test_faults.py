"""Failing file systems, in a short form."""

from pathlib import Path

import faults
import pytest

from whylight.store import files


def only(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    every = faults.commands()
    monkeypatch.setattr(faults, "commands", lambda: [one for one in every if one.name == name])


def test_a_share_of_the_fault_points_breaks_nothing() -> None:
    found = faults.campaign(0.15, seed=0)
    assert found.violations == []
    assert found.tried["commands"] == 5
    assert found.tried["fault points"] >= 10


def test_a_file_that_is_left_half_written_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def half(place: Path, content: bytes) -> None:
        beside = place.with_name(f".{place.name}{files.PART}")
        files._write_through(beside, content)
        beside.replace(place)

    only(monkeypatch, "explain --out")
    monkeypatch.setattr(files, "_replace", half)
    found = faults.campaign(1.0, seed=0)
    assert any("left" in one for one in found.violations)


def test_an_error_of_the_system_that_is_not_said_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsaid(path: Path, content: bytes) -> None:
        files._replace(path, content)

    monkeypatch.setattr(files, "write", unsaid)
    only(monkeypatch, "explain --out")
    assert any("raised OSError" in one for one in faults.campaign(1.0, seed=0).violations)
