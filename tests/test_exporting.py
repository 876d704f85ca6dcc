"""Exports of a run: the characters of other tools are ours, and what is read back is what was written."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import whylight as wl
from whylight.core.errors import InputError, WhylightError
from whylight.core.rationale import Rationale
from whylight.core.text import Span, Text
from whylight.data.dataset import Dataset, Record
from whylight.report.exporting import FORMS, export
from whylight.report.marked import Marked, write_brat

TEXTS = ("A gripping,\nmoving film.", "A 😀 gripping film", "dull and flat, déjà vu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = Dataset("few", "test", (), tuple(Record(f"t{n}", Text(text), ()) for n, text in enumerate(TEXTS)))
    out = tmp_path_factory.mktemp("exports") / "run"
    wl.run_corpus(wl.load(), data, methods=["occlusion"], out=out, progress=False)
    return out


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[Any]:
    return list(wl.open_run(folder).explanations)


def test_jsonl_has_the_words_with_their_characters(folder: Path, rows: list[Any], tmp_path: Path) -> None:
    assert export(folder, tmp_path / "out.jsonl", form="jsonl") == 3
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [one["id"] for one in found] == ["t0", "t1", "t2"]
    for one, row in zip(found, rows, strict=True):
        assert [word["score"] for word in one["words"]] == row["scores"]
        for word in one["words"]:
            assert one["text"][word["start"] : word["end"]] == word["text"]
    assert found[1]["words"][1]["text"] in ("😀", "gripping")


def test_parquet_has_the_same_as_lists(folder: Path, rows: list[Any], tmp_path: Path) -> None:
    export(folder, tmp_path / "out.parquet", form="parquet")
    frame = pd.read_parquet(tmp_path / "out.parquet")
    assert [list(one) for one in frame["scores"]] == [row["scores"] for row in rows]
    places = [
        [*map(list, zip(*own, strict=True))] for own in zip(frame["parts"], frame["starts"], frame["ends"], strict=True)
    ]
    assert places == [[list(place) for place in row["places"]] for row in rows]


def test_brat_entities_are_the_characters_of_their_text(folder: Path, tmp_path: Path) -> None:
    assert export(folder, tmp_path / "brat", form="brat") == 3
    seen = 0
    for number, text in enumerate(TEXTS):
        assert (tmp_path / "brat" / f"{number:08d}.txt").read_bytes().decode() == text
        for line in (tmp_path / "brat" / f"{number:08d}.ann").read_text(encoding="utf-8").splitlines():
            if line.startswith("T"):
                _, where, shown = line.split("\t")
                _, _, stretches = where.partition(" ")
                pieces = [text[int(start) : int(end)] for start, end in (one.split() for one in stretches.split(";"))]
                assert " ".join(pieces) == shown
                assert not any("\n" in piece for piece in pieces)
                seen += 1
    assert seen >= 3


def test_a_mark_over_lines_has_the_characters_of_its_stretches(tmp_path: Path) -> None:
    text = "a good\n\r\nand\u2028fine film\x85 is"
    spans = [(Span(0, 2, len(text) - 3), 1.0)]
    write_brat([Marked("t", text, "good", "me", [], None, spans)], tmp_path)
    line = (tmp_path / "00000000.ann").read_text(encoding="utf-8").splitlines()[0]
    where, shown = line.split("\t")[1:]
    stretches = [tuple(map(int, one.split())) for one in where.removeprefix("good ").split(";")]
    assert [text[start:end] for start, end in stretches] == ["good", "and", "fine film"]
    assert shown == "good and fine film"


def test_conll_has_a_word_per_line_and_marks_evidence(folder: Path, rows: list[Any], tmp_path: Path) -> None:
    export(folder, tmp_path / "out.conll", form="conll")
    blocks = (tmp_path / "out.conll").read_text(encoding="utf-8").strip().split("\n\n")
    for block, row in zip(blocks, rows, strict=True):
        cells = [line.split("\t") for line in block.splitlines() if not line.startswith("# ")]
        assert [row["text"][int(one[1]) : int(one[2])] for one in cells] == [one[0] for one in cells]
        assert [float(one[3]) for one in cells] == pytest.approx(row["scores"], rel=1e-8)
        tags = [one[4] for one in cells]
        assert {tag[0] for tag in tags} <= {"B", "I", "O"}
        best = max(range(len(cells)), key=lambda place: row["scores"][place])
        assert tags[best] != "O"


@pytest.mark.parametrize("form", ["brat", "conll", "labelstudio"])
def test_a_method_without_a_sign_says_what_mattered(form: str, tmp_path: Path) -> None:
    people = {"positive": Rationale((Span(0, 2, 10),))}
    data = Dataset("few", "test", ("positive",), (Record("t", Text(TEXTS[0]), ("positive",), people),))
    asked: dict[str, Any] = {"methods": ["attention", "occlusion"], "metrics": ["auprc"]}
    wl.run_corpus(wl.load(), data, **asked, out=tmp_path / "run", progress=False)
    for method, mattered in (("attention", True), ("occlusion", False), ("human", False)):
        out = tmp_path / f"{form} {method}"
        export(tmp_path / "run", out, form=form, method=method)
        written = (out / "00000000.ann" if form == "brat" else out).read_text(encoding="utf-8")
        assert ("no sign: what mattered, for the label or against it" in written) == mattered
        names = {
            "brat": f"by {method}",
            "conll": f"# method = {method}\n",
            "labelstudio": f'"model_version": "{method}"',
        }
        assert names[form] in written  # a name is what a user looks for, and stays one


def test_label_studio_counts_as_javascript_does(folder: Path, tmp_path: Path) -> None:
    export(folder, tmp_path / "tasks.json", form="labelstudio")
    tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    assert [task["data"]["text"] for task in tasks] == list(TEXTS)
    for task in tasks:
        units = task["data"]["text"].encode("utf-16-le")
        for region in task["predictions"][0]["result"]:
            value = region["value"]
            assert units[2 * value["start"] : 2 * value["end"]].decode("utf-16-le") == value["text"]
            assert value["labels"][0] in ("negative", "positive")
    assert tasks[1]["predictions"][0]["result"]


def test_what_cannot_be_exported_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    for given, said in (
        ({"form": "word"}, "form 'word'"),
        ({"form": "jsonl", "method": "lime"}, "lime"),
    ):
        with pytest.raises(WhylightError, match=said):
            export(folder, tmp_path / "out", **given)
    with pytest.raises(InputError, match="holds no explanation"):
        export(tmp_path, tmp_path / "out", form="jsonl")
    with pytest.raises(InputError, match="there is no folder"):
        export(folder, tmp_path / "none" / "out.jsonl", form="jsonl")
    assert set(FORMS) == {"jsonl", "parquet", "datasets", "brat", "conll", "labelstudio"}
