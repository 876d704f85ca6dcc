"""Kills without warning, in a short form."""

import json
from pathlib import Path
from typing import Any

import kills
import pytest

import tiny
from whylight.store import tables


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
    """Look at a run in which two score rows of one text stand so many times, and are listed so."""
    rows = [json.loads(row) for row in right["scores"]]
    first = [row for row in rows if (row["example_id"], row["method"]) == (rows[0]["example_id"], rows[0]["method"])][
        :2
    ]
    others = [row for row in rows if row not in first]
    tables.write(folder / "scores.parquet", [*first * times, *others], tables.SCORES)
    about = right["about"] | {"seconds": 0.0, "peak_megabytes": None}
    listed = [
        one | ({"scores": one["scores"] + 2 * (times - 1)} if one["example_id"] == rows[0]["example_id"] else {})
        for one in about["done"]
    ]
    tables.write(folder / "runs.parquet", [about | {"done": listed}], tables.RUNS)
    return list(kills.differences(kills.WORKS[0], folder, right))
