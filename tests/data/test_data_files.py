"""Files of one's own: offsets are verified, and every fault is a sentence with file and line."""

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from whylight.core.errors import InputError, SettingError
from whylight.core.text import Span
from whylight.data.dataset import Dataset
from whylight.data.load import dataset

Rows = list[dict[str, Any]]
SINGLE: Rows = [
    {"id": "x", "text": "a fine 🎬 film", "label": "positive", "rationale": [[2, 6]]},
    {"id": "y", "text": "so dull", "label": "negative", "rationale": [[3, 7], [3, 7]]},
    {"id": "z", "text": "a film", "label": "negative"},
]
MULTI: Rows = [
    {"text": "fever and cough", "labels": ["r50", "r05"], "rationales": {"r50": [[0, 5]], "r05": [[10, 15]]}},
    {"text": "nothing to report", "labels": []},
]


def _jsonl(path: Path, rows: Rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _gzip(path: Path, rows: Rows) -> Path:
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    return path


def _cells(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in row.items()}


def _table(path: Path, rows: Rows) -> Path:
    header = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, header, delimiter="," if path.suffix == ".csv" else "\t")
        writer.writeheader()
        writer.writerows(map(_cells, rows))
    return path


def _parquet(path: Path, rows: Rows) -> Path:
    parquet.write_table(pa.Table.from_pylist(rows), path)
    return path


WRITERS: dict[str, Callable[[Path, Rows], Path]] = {
    ".jsonl": _jsonl,
    ".jsonl.gz": _gzip,
    ".csv": _table,
    ".tsv": _table,
    ".parquet": _parquet,
}


def _marked(data: Dataset) -> list[dict[str, list[str]]]:
    return [
        {label: [record.example.show(span) for span in found.places] for label, found in record.rationales.items()}
        for record in data
    ]


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_gives_the_same_single_label_records(ending: str, tmp_path: Path) -> None:
    data = dataset(WRITERS[ending](tmp_path / f"mine{ending}", SINGLE))
    assert (data.name, data.split, data.multi_label) == ("mine", "test", False)
    assert data.label_names == ("negative", "positive")
    assert [record.id for record in data] == ["x", "y", "z"]
    assert [record.example.text for record in data] == [row["text"] for row in SINGLE]
    assert [record.labels for record in data] == [("positive",), ("negative",), ("negative",)]
    assert _marked(data) == [{"positive": ["fine"]}, {"negative": ["dull"]}, {}]


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_gives_the_same_multi_label_records(ending: str, tmp_path: Path) -> None:
    data = dataset(WRITERS[ending](tmp_path / f"mine{ending}", MULTI))
    assert data.multi_label
    assert data.label_names == ("r05", "r50")
    assert [record.labels for record in data] == [("r50", "r05"), ()]
    assert _marked(data) == [{"r50": ["fever"], "r05": ["cough"]}, {}]


def test_spans_may_name_the_part_of_a_pair(tmp_path: Path) -> None:
    rows: Rows = [{"text": "a man sleeps", "pair": "he runs", "label": 2, "rationale": [[6, 12], [1, 3, 7]]}]
    record = dataset(_jsonl(tmp_path / "pairs.jsonl", rows))[0]
    assert record.example.parts == ("a man sleeps", "he runs")
    assert record.rationales["2"].places == (Span(0, 6, 12), Span(1, 3, 7))


def test_numbers_as_labels_are_ordered_by_value(tmp_path: Path) -> None:
    rows: Rows = [{"text": "t", "label": label} for label in (10, 9, 1.0)]
    assert dataset(_jsonl(tmp_path / "n.jsonl", rows)).label_names == ("1", "9", "10")


def test_texts_of_a_table_keep_their_line_ends_and_may_be_long(tmp_path: Path) -> None:
    text = 'one\r\ntwo, "three"\n' + "word " * 40_000 + "end"
    data = dataset(_table(tmp_path / "long.csv", [{"text": text, "label": "a", "rationale": [[5, 8]]}]))
    assert data[0].example.text == text
    assert _marked(data) == [{"a": ["two"]}]


def test_a_record_ends_at_a_line_feed_only(tmp_path: Path) -> None:
    rows = '{"text": "a\u2028b\x85c", "label": "x"}\n\n{"text": "d", "label": "y"}\n'
    (tmp_path / "odd.jsonl").write_text("\ufeff" + rows, encoding="utf-8", newline="")
    data = dataset(tmp_path / "odd.jsonl")
    assert [record.example.text for record in data] == ["a\u2028b\x85c", "d"]
    assert [record.id for record in data] == ["1", "3"]


def test_a_folder_has_one_file_a_split(tmp_path: Path) -> None:
    _jsonl(tmp_path / "train.jsonl", SINGLE)
    _jsonl(tmp_path / "validation.jsonl", SINGLE[:2])
    assert len(dataset(tmp_path, split="train")) == 3
    assert len(dataset(tmp_path, split="dev")) == 2
    with pytest.raises(SettingError, match=r"unknown split of .* 'test'.*train, validation"):
        dataset(tmp_path)


def test_parts_of_a_table_are_read_as_one_data_set(tmp_path: Path) -> None:
    bare: Rows = [{key: value for key, value in row.items() if key != "id"} for row in SINGLE]
    (tmp_path / "parts").mkdir()
    _jsonl(tmp_path / "parts" / "part-0002.jsonl", bare[2:])
    _jsonl(tmp_path / "parts" / "part-0001.jsonl", bare[:2])
    data, whole = dataset(tmp_path / "parts"), dataset(_jsonl(tmp_path / "all.jsonl", bare))
    assert data.records == whole.records
    assert [record.id for record in data] == ["1", "2", "3"]
    assert "2 files are read as parts of one table" in data.notes
    assert any("read whole" in note for note in data.notes)


def test_a_split_may_be_in_parts(tmp_path: Path) -> None:
    _jsonl(tmp_path / "train-00000-of-00002.jsonl", SINGLE[:1])
    _jsonl(tmp_path / "train-00001-of-00002.jsonl", SINGLE[1:2])
    _jsonl(tmp_path / "validation-00000-of-00001-0123456789ab.jsonl", SINGLE[2:])
    assert [record.id for record in dataset(tmp_path, split="train")] == ["x", "y"]
    assert [record.id for record in dataset(tmp_path, split="dev")] == ["z"]
    with pytest.raises(SettingError, match=r"unknown split of .* 'test'.*train, validation"):
        dataset(tmp_path)


@pytest.mark.parametrize(
    "names",
    [
        ("training.jsonl", "testing.jsonl"),
        ("v1-train.jsonl", "v1-dev.jsonl"),
        ("train-0.jsonl", "train-1.jsonl"),
        ("a-1.jsonl", "b-1.jsonl"),
        ("part-1.jsonl", "more.jsonl"),
    ],
)
def test_files_of_which_one_may_be_another_split_are_not_taken_for_parts(
    names: tuple[str, str], tmp_path: Path
) -> None:
    for name, row in zip(names, SINGLE, strict=False):
        _jsonl(tmp_path / name, [row])
    with pytest.raises(SettingError, match=r"unknown split of .* 'test'"):
        dataset(tmp_path)


def test_parts_are_of_one_kind_and_together_within_the_bound_of_a_file(tmp_path: Path) -> None:
    _jsonl(tmp_path / "0001.jsonl", SINGLE[:1])
    _jsonl(tmp_path / "0002.jsonl", SINGLE[1:])
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert len(dataset(tmp_path, max_file_bytes=sum(sizes))) == 3
    with pytest.raises(InputError, match=r"holds more than [\d,]+ bytes; 'max_file_bytes' is the setting for more"):
        dataset(tmp_path, max_file_bytes=sum(sizes) - 1)
    _table(tmp_path / "0003.csv", SINGLE[:1])
    with pytest.raises(InputError, match=r"must be files of one kind; they end in csv, jsonl\."):
        dataset(tmp_path)


def test_what_is_wrong_with_a_part_names_its_file_and_line(tmp_path: Path) -> None:
    _jsonl(tmp_path / "0001.jsonl", SINGLE[:2])
    _jsonl(tmp_path / "0002.jsonl", [SINGLE[2], {"text": "no label"}])
    with pytest.raises(InputError, match=r"line 2 of .*0002\.jsonl' has no 'label'"):
        dataset(tmp_path)


def test_texts_without_a_label_are_taken_where_that_is_meant(tmp_path: Path) -> None:
    path = _jsonl(tmp_path / "texts.jsonl", [{"text": "a film"}, {"text": "a plot"}])
    with pytest.raises(InputError, match=r"has no 'label' .*--label-column.* unlabelled=true is for texts without one"):
        dataset(path)
    assert dataset(path, unlabelled=True).label_names == ()
    for key, label, several in (("label", "fine", False), ("labels", ["fine"], True)):
        mixed = _jsonl(tmp_path / f"{key}.jsonl", [{"text": "a film"}, {"text": "a plot", key: label}, {"text": "it"}])
        found = dataset(mixed, unlabelled=True)
        assert [record.labels for record in found] == [(), ("fine",), ()]
        assert found.multi_label is several


def test_a_split_column_chooses_the_rows(tmp_path: Path) -> None:
    rows = [{**row, "split": split} for row, split in zip(SINGLE, ("train", "val", "test"), strict=True)]
    path = _jsonl(tmp_path / "all.jsonl", rows)
    assert [record.id for record in dataset(path, split="dev")] == ["y"]
    assert [record.id for record in dataset(path)] == ["z"]
    with pytest.raises(SettingError, match=r"unknown split of .* 'extra'.*test, train, val"):
        dataset(path, split="extra")


def test_a_file_without_splits_says_that_it_is_read_whole(tmp_path: Path) -> None:
    assert any("read whole" in note for note in dataset(_jsonl(tmp_path / "a.jsonl", SINGLE)).notes)


@pytest.mark.parametrize("span", [[2, 2], [2, 7], [5, 99], [-3, 2], [4, 2], [1, 0, 1], [1, 2]])
def test_spans_that_mark_nothing_are_errors_or_dropped_and_counted(span: list[int], tmp_path: Path) -> None:
    rows: Rows = [SINGLE[0], {"text": "a film", "label": "positive", "rationale": [[2, 6], span]}]
    path = _jsonl(tmp_path / "spans.jsonl", rows)
    with pytest.raises(InputError, match=r"line 2 of .*spans\.jsonl' has the span .*empty or outside its text"):
        dataset(path)
    data = dataset(path, invalid="drop")
    assert _marked(data)[1] == {"positive": ["film"]}
    assert "1 spans that are empty or outside their text are dropped" in data.notes


def test_a_rationale_whose_spans_are_all_dropped_is_none(tmp_path: Path) -> None:
    path = _jsonl(tmp_path / "s.jsonl", [{"text": "a film", "label": "x", "rationale": [[6, 7]]}])
    assert dataset(path, invalid="drop")[0].rationales == {}


BROKEN: dict[str, tuple[str, str]] = {
    "half JSON": ('{"text": "a", "label"', "line 2 .*is not JSON"),
    "a list": ("[1, 2]", "line 2 .*is not a JSON object"),
    "no text": ('{"label": "x"}', "line 2 .*no 'text'.*needs 'text' and 'label'"),
    "a number as text": ('{"text": 3, "label": "x"}', "line 2 .*no 'text'"),
    "an empty text": ('{"text": " ", "label": "x"}', "line 2 .*empty 'text'"),
    "an empty pair": ('{"text": "a", "pair": " ", "label": "x"}', "line 2 .*empty 'pair'"),
    "half a character": ('{"text": "a\\ud83d", "label": "x"}', "line 2 .*half a character"),
    "no label": ('{"text": "a"}', "line 2 .*no 'label'"),
    "no label but null": ('{"text": "a", "label": null}', "line 2 .*no 'label'"),
    "an object as label": ('{"text": "a", "label": {}}', "line 2 .*a label is a name"),
    "a fraction as label": ('{"text": "a", "label": 0.5}', "line 2 .*a label is a name"),
    "a truth value as label": ('{"text": "a", "label": true}', "line 2 .*a label is a name"),
    "labels that are no list": ('{"text": "a", "labels": {"x": 1}}', "line 2 .*'labels' that is not a list"),
    "a flat rationale": ('{"text": "ab", "label": "x", "rationale": [0, 1]}', r"line 2 .*a span is \[start, end\]"),
    "truth values as span": ('{"text": "ab", "label": "x", "rationale": [[false, true]]}', "line 2 .*a span is"),
    "an id twice": ('{"id": 1, "text": "a", "label": "x"}', "line 2 .*the id '1' of an earlier line"),
    "label and labels": ('{"text": "a", "labels": ["x"]}', "line 2 .*mixes 'label' and 'labels'"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_line_is_a_sentence_with_file_and_line(case: str, tmp_path: Path) -> None:
    line, message = BROKEN[case]
    path = tmp_path / "mine.jsonl"
    path.write_text('{"id": 1, "text": "good", "label": "x"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        dataset(path)
    assert "mine.jsonl" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_rationale_for_a_label_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = _jsonl(tmp_path / "m.jsonl", [{"text": "ab", "labels": ["x"], "rationales": {"y": [[0, 1]]}}])
    with pytest.raises(InputError, match=r"line 1 .*rationale for 'y'"):
        dataset(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("latin.jsonl", b'{"text": "ok", "label": "x"}\n{"text": "caf\xe9", "label": "x"}\n', "line 2 .*not UTF-8"),
        ("latin.csv", b"text,label\ncaf\xe9,x\n", "line 2 .*not UTF-8"),
        ("empty.jsonl", b"", "holds no record"),
        ("empty.csv", b"", "holds no record"),
        ("header.csv", b"text,label\n", "holds no record"),
        ("column.csv", b"sentence,label\na,b\n", "no column 'text'; its header is sentence, label"),
        ("label.csv", b"text,topic\na,b\n", "line 2 .*no 'label'"),
        ("short.tsv", b"text\tlabel\nonly text\n", "line 2 .*1 columns; the header has 2"),
        ("quote.csv", b'text,label\n"never closed,x\n', "is not a table"),
        ("cell.csv", b"text,label,rationale\nab,x,0-1\n", "line 2 .*should be JSON"),
        ("torn.jsonl.gz", gzip.compress(b'{"text": "a", "label": "x"}\n' * 99, mtime=0)[:40], "cannot be read"),
        ("plain.jsonl.gz", b'{"text": "a"}', "cannot be read"),
        ("notes.md", b"text", r"data file ends in \.jsonl"),
        ("torn.parquet", b"PAR1 and no more", "cannot be read as Parquet"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        dataset(tmp_path / name)
    assert name in str(caught.value)


def test_reading_a_table_leaves_the_limit_of_csv_as_it_was(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    dataset(_table(tmp_path / "a.csv", SINGLE))
    assert csv.field_size_limit() == before
