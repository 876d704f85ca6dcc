"""ERASER folders: token ranges become characters of the untouched document."""

import json
from pathlib import Path
from typing import Any

import pytest

from whylight.core.errors import InputError
from whylight.data.load import dataset

DOCUMENT = "the plot is thin .\nbut  the cast\tis a joy !\n"
"""Tokens: the plot is thin . | but the cast<TAB>is a joy !"""


def _evidence(start: int, end: int, text: str, document: str = "one.txt") -> dict[str, Any]:
    return {"docid": document, "start_token": start, "end_token": end, "text": text}


def _row(*evidences: dict[str, Any], **fields: Any) -> dict[str, Any]:
    groups = [[evidence] for evidence in evidences]
    return {"annotation_id": "one.txt", "classification": "POS", "evidences": groups, "query": "good ?", **fields}


def _folder(path: Path, *rows: dict[str, Any], split: str = "test") -> str:
    (path / "docs").mkdir(exist_ok=True)
    for name in ("one.txt", "two.txt"):
        (path / "docs" / name).write_bytes(DOCUMENT.encode())
    (path / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return f"eraser:{path}"


def test_evidence_is_the_characters_of_its_tokens(tmp_path: Path) -> None:
    spec = _folder(tmp_path, _row(_evidence(3, 5, "thin ."), _evidence(4, 7, ". but the"), _evidence(3, 5, "thin .")))
    data = dataset(spec)
    example = data[0].example
    assert example.text == DOCUMENT
    assert example.pair is None
    assert example.words is not None
    assert "|".join(map(example.show, example.words)) == "the|plot|is|thin|.|but|the|cast\tis|a|joy|!"
    assert data[0].labels == ("positive",)
    assert [example.show(span) for span in data[0].rationales["positive"].places] == ["thin .", ".\nbut  the"]
    assert data.notes == ("every labelled record has the label 'positive'",)


def test_labels_are_those_of_all_splits_and_keep_their_names_outside_sentiment(tmp_path: Path) -> None:
    _folder(tmp_path, _row(classification="REFUTES"), split="val")
    spec = _folder(tmp_path, _row(classification="SUPPORTS"))
    assert dataset(spec).label_names == dataset(spec, split="dev").label_names == ("REFUTES", "SUPPORTS")
    assert dataset(spec)[0].labels == ("SUPPORTS",)


def test_evidence_that_does_not_fit_is_counted(tmp_path: Path) -> None:
    spec = _folder(tmp_path, _row(_evidence(0, 2, "the plott"), _evidence(3, 3, "")), _row(annotation_id="two.txt"))
    data = dataset(spec)
    assert [len(record.rationales) for record in data] == [1, 0]
    assert "1 evidence texts are not those of their tokens; the token ranges are taken" in data.notes
    assert "1 empty evidences are dropped" in data.notes


def test_queries_become_the_pair_where_they_differ(tmp_path: Path) -> None:
    spec = _folder(tmp_path, _row(), _row(annotation_id="two.txt", query="is it long ?"))
    data = dataset(spec)
    example = data[1].example
    assert example.pair == "is it long ?"
    assert example.words is not None
    assert [example.show(word) for word in example.words if word.part == 1] == ["is", "it", "long", "?"]
    assert "the query is the pair" in data.notes
    assert dataset(spec, query="ignore")[1].example.pair is None
    assert dataset(_folder(tmp_path, _row()))[0].example.pair is None
    assert dataset(_folder(tmp_path, _row()), query="pair")[0].example.pair == "good ?"


def test_documents_may_stand_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text(json.dumps({"docid": "d", "document": "all good"}), encoding="utf-8")
    (tmp_path / "test.jsonl").write_text(json.dumps(_row(_evidence(1, 2, "good", "d"))), encoding="utf-8")
    data = dataset(f"eraser:{tmp_path}")
    assert data[0].example.text == "all good"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (_row(_evidence(9, 12, "")), "line 1 .*marks the tokens 9 to 12; its document has 11"),
        (_row(_evidence(-1, 2, "")), "line 1 .*marks the tokens -1 to 2"),
        (_row(_evidence(0, 1, "the"), _evidence(0, 1, "a", "two.txt")), "line 1 .*about 2 documents"),
        (_row(docids=["one.txt", "two.txt"]), "line 1 .*about 2 documents"),
        (_row(annotation_id="none.txt"), "line 1 .*names the document 'none.txt'"),
        (_row(evidences=[{"docid": "one.txt"}]), "line 1 .*'evidences' that are not groups"),
        ({"annotation_id": "one.txt"}, "line 1 .*no 'classification'"),
    ],
)
def test_what_cannot_be_read_is_a_sentence_with_file_and_line(
    row: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        dataset(_folder(tmp_path, row))
