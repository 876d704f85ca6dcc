"""Kills without warning, in a short form."""

import json
from pathlib import Path
from typing import Any

import kills
import pytest

import tiny
from whylight.store import runs, tables


def test_a_killed_evaluation_ends_like_an_undisturbed_one() -> None:
    found = kills.campaign(0.027, seed=1)
    assert found.violations == []
    assert found.tried == {"kills": 1, "of evaluate": 1, "of train": 0, "of tune": 0}


@pytest.mark.slow
def test_killed_trainings_and_searches_end_like_undisturbed_ones() -> None:
    found = kills.campaign(0.06, seed=1)
    assert found.violations == []
    assert found.tried == {"kills": 3, "of evaluate": 1, "of train": 1, "of tune": 1}


def test_lost_and_doubled_rows_and_other_weights_would_be_seen(tmp_path: Path) -> None:
    names = {0: "negative", 1: "positive"}
    model = tiny.model("bert", id2label=names, label2id={name: number for number, name in names.items()})
    model.save_pretrained(tmp_path / "start")
    tiny.tokenizer("bert").save_pretrained(tmp_path / "start")
    evaluate, train, _ = kills.WORKS
    evaluate.run(tmp_path / "start", tmp_path / "run")
    right = evaluate.read(tmp_path / "run")
    assert list(kills.differences(evaluate, tmp_path / "run", right)) == []
    assert any("2 rows lost, 0 doubled" in one for one in with_rows(tmp_path / "run", right, times=0))
    assert any("0 rows lost, 2 doubled" in one for one in with_rows(tmp_path / "run", right, times=2))
    trained = {"weights": b"1", "figures": {}, "files": {"model.safetensors", "training.json"}}
    (tmp_path / "model.safetensors").write_bytes(b"2")
    (tmp_path / "training.json").write_text(json.dumps({"validation": {}}))
    assert "weights differ" in list(kills.differences(train, tmp_path, trained))


def with_rows(folder: Path, right: dict[str, Any], *, times: int) -> list[str]:
    """Look at a run in which two score rows of its first text stand so many times, and are listed so."""
    scores = min((folder / "scores").iterdir())
    texts = folder / "texts" / scores.name
    rows, (text, *others) = tables.read(scores, tables.SCORES), tables.read(texts, tables.TEXTS)
    sound = scores.read_bytes(), texts.read_bytes()
    tables.write(scores, [*rows[:2] * times, *rows[2:]], tables.SCORES)
    tables.write(texts, [text | {"scores": text["scores"] + 2 * (times - 1)}, *others], tables.TEXTS)
    found = list(kills.differences(kills.WORKS[0], folder, right))
    scores.write_bytes(sound[0])
    texts.write_bytes(sound[1])
    return found


def test_a_file_that_is_nobodys_would_be_seen(tmp_path: Path) -> None:
    (tmp_path / "scores").mkdir()
    runs.write_manifest(tmp_path, runs.Manifest("r", {}))
    right = kills.WORKS[0].read(tmp_path)
    tables.write(tmp_path / "scores" / "00000000-0123456789ab.parquet", [], tables.SCORES)
    assert list(kills.differences(kills.WORKS[0], tmp_path, right)) == ["files: 0 rows lost, 0 doubled, 1 others"]
