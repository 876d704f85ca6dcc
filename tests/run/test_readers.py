"""Exports as the tools that they are for read them: what comes out is what stands in the run."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import whylight as wl
from whylight.core.evidence import evidence
from whylight.core.text import Text
from whylight.data.dataset import Dataset, Record
from whylight.report.exporting import export
from whylight.store.explanations import explanation_of

pytestmark = pytest.mark.ray
TEXTS = ("A gripping,\nmoving film.", "A 😀 gripping film", "dull and flat, déjà vu", "awful\tand\r\nvery, very dull")
CONFIG = """
<View>
  <Labels name="label" toName="text"><Label value="negative"/><Label value="positive"/></Labels>
  <Text name="text" value="$text"/>
</View>
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    records = tuple(Record(f"text {number}\nof four", Text(text), ()) for number, text in enumerate(TEXTS))
    out = tmp_path_factory.mktemp("exports") / "run"
    data = Dataset("few", "test", (), records)
    wl.run_corpus(wl.load(), data, methods=["occlusion", "input_x_gradient"], out=out, progress=False)
    return out


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[Any]:
    return [row for row in wl.open_run(folder).explanations if row["method"] == "occlusion"]


def spans(row: Any) -> list[tuple[int, int]]:
    """The evidence of a row, in reading order."""
    found = explanation_of(row)
    return sorted((one.start, one.end) for one in evidence(found, found.targets[0], spans=len(row["scores"])))


def test_brat(folder: Path, rows: list[Any], tmp_path: Path) -> None:
    from pybrat.parser import BratParser  # noqa: PLC0415  installed by `make test-ray` alone

    export(folder, tmp_path / "brat", form="brat", method="occlusion")
    found = sorted(BratParser(error="raise").parse(str(tmp_path / "brat")), key=lambda one: one.id)
    assert [one.text for one in found] == [text.replace("\r\n", "\n") for text in TEXTS]  # as it opens files
    for one, row in zip(found, rows, strict=True):
        assert {entity.type for entity in one.entities} == {row["label"]}
        own = sorted((entity.spans[0].start, entity.spans[-1].end) for entity in one.entities)
        assert own == spans(row)
    assert sum(len(one.entities) for one in found) >= 4


def test_conll(folder: Path, rows: list[Any], tmp_path: Path) -> None:
    import conllu  # noqa: PLC0415  installed by `make test-ray` alone

    export(folder, tmp_path / "run.conll", form="conll", method="occlusion")
    columns = ["form", "start", "end", "score", "tag"]
    found = conllu.parse((tmp_path / "run.conll").read_text(encoding="utf-8"), fields=columns)
    assert [one.metadata["label"] for one in found] == [row["label"] for row in rows]
    assert [one.metadata["id"] for one in found] == [f"text {number} of four" for number in range(4)]
    for one, row in zip(found, rows, strict=True):
        assert [(int(token["start"]), int(token["end"])) for token in one] == [
            tuple(place[1:]) for place in row["places"]
        ]
        assert [float(token["score"]) for token in one] == pytest.approx(row["scores"], rel=1e-8)
        begun = [int(token["start"]) for token in one if token["tag"] == f"B-{row['label']}"]
        assert begun == [start for start, _ in spans(row)]
        inside = {place for start, end in spans(row) for place in range(start, end)}
        assert [token["tag"] != "O" for token in one] == [int(token["start"]) in inside for token in one]


def test_label_studio(folder: Path, rows: list[Any], tmp_path: Path) -> None:
    from label_studio_sdk.label_interface import LabelInterface  # noqa: PLC0415  installed by `make test-ray` alone

    export(folder, tmp_path / "tasks.json", form="labelstudio", method="occlusion")
    studio = LabelInterface(CONFIG)
    tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    for task, row in zip(tasks, rows, strict=True):
        assert studio.validate_task({"data": task["data"]})
        (guess,) = task["predictions"]
        assert studio.validate_prediction(guess, return_errors=True) == []
        found = [(one["value"]["start"], one["value"]["end"]) for one in guess["result"]]
        units = [len(row["text"][:place].encode("utf-16-le")) // 2 for place in range(len(row["text"]) + 1)]
        assert found == [(units[start], units[end]) for start, end in spans(row)]


def test_hugging_face_pandas_and_the_run_say_the_same(folder: Path, rows: list[Any], tmp_path: Path) -> None:
    import datasets  # noqa: PLC0415  installed by `make test-ray` alone

    export(folder, tmp_path / "set", form="datasets", method="occlusion")
    export(folder, tmp_path / "run.parquet", form="parquet", method="occlusion")
    export(folder, tmp_path / "run.jsonl", form="jsonl", method="occlusion")
    read = [
        datasets.load_from_disk(str(tmp_path / "set")),
        datasets.Dataset.from_parquet(str(tmp_path / "run.parquet"), cache_dir=str(tmp_path / "cache")),
        pd.read_parquet(tmp_path / "run.parquet").to_dict("records"),
    ]
    for found in read:
        for one, row in zip(found, rows, strict=True):
            assert (one["text"], one["label"], list(one["scores"])) == (row["text"], row["label"], row["scores"])
            places = zip(one["parts"], one["starts"], one["ends"], strict=True)
            assert list(map(list, places)) == list(map(list, row["places"]))
    lines = datasets.Dataset.from_json(str(tmp_path / "run.jsonl"), cache_dir=str(tmp_path / "cache"))
    for one, row in zip(lines, rows, strict=True):
        assert [word["score"] for word in one["words"]] == row["scores"]
        assert [row["text"][word["start"] : word["end"]] for word in one["words"]] == [
            word["text"] for word in one["words"]
        ]
