"""Columns that the user calls by name, labels that are numbers and get names, and texts without labels."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_data_files import WRITERS

from whylight.core.errors import InputError, SettingError, WhylightError
from whylight.data.load import dataset

ROWS = [
    {"no": 1, "review": "a fine film", "stars": 5, "why": [[2, 6]], "text": "not this"},
    {"no": 2, "review": "so dull", "stars": 1, "why": [[3, 7]], "text": "nor that"},
]
NAMED = {"text_column": "review", "label_column": "stars", "rationale_column": "why"}


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    return WRITERS[".csv"](tmp_path / "reviews.csv", ROWS)


@pytest.mark.parametrize("ending", WRITERS)
def test_columns_are_read_by_the_names_that_the_user_gives(ending: str, tmp_path: Path) -> None:
    data = dataset(WRITERS[ending](tmp_path / f"mine{ending}", ROWS), **NAMED)
    assert [record.example.text for record in data] == ["a fine film", "so dull"]  # type: ignore[attr-defined]
    assert [record.labels for record in data] == [("5",), ("1",)]
    assert data.label_names == ("1", "5")
    assert [record.example.show(record.rationales[record.labels[0]].places[0]) for record in data] == ["fine", "dull"]
    assert data.losses == ("not in the records: the columns text, no",)


@pytest.mark.parametrize("ending", WRITERS)
def test_a_label_that_is_a_list_is_several_and_a_rationale_may_be_an_object(ending: str, tmp_path: Path) -> None:
    rows = [{"note": "fever and cough", "codes": ["R50", "R05"], "spans": {"R50": [[0, 5]], "R05": [[10, 15]]}}]
    path = WRITERS[ending](tmp_path / f"mine{ending}", rows)
    data = dataset(path, text_column="note", label_column="codes", rationale_column="spans")
    assert data.multi_label
    assert data[0].labels == ("R50", "R05")
    assert sorted(data[0].rationales) == ["R05", "R50"]


def test_a_list_of_labels_is_several_in_a_column_that_is_called_label_and_named(tmp_path: Path) -> None:
    path = WRITERS[".parquet"](tmp_path / "mine.parquet", [{"text": "a film", "label": ["x", "y"]}])
    assert dataset(path, label_column="label")[0].labels == ("x", "y")
    with pytest.raises(InputError, match="a list of labels stands in 'labels', or in the column that --label-column"):
        dataset(path)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.csv", b"text;label\na, film;1\n", "between semicolons, and those of a .csv file between commas"),
        ("x.csv", b"text\tlabel\na film\t1\n", "between tabs, and those of a .csv file between commas"),
        ("x.tsv", b"text,label\na film,1\n", "between commas, and those of a .tsv file between tabs"),
        (
            "x.csv",
            b'\n"text";"label"\r\n"a, film";"1"\r\n',
            "between semicolons, and those of a .csv file between commas",
        ),
        ("x.csv", "text,label\na film,1\n".encode("utf-16"), "is not UTF-8; convert it first"),
        ("x.csv", '"text";"label"\r\n"a film";"1"\r\n'.encode("utf-16"), "is not UTF-8; convert it first"),
        ("x.csv", '"text","label"\r\n"a film","1"\r\n'.encode("utf-16-le"), "is not UTF-8; convert it first"),
        ("x.tsv", "text\tlabel\r\na film\t1\r\n".encode("utf-16"), "is not UTF-8; convert it first"),
        ("x.csv", "t\u00e9xt,label\na film,1\n".encode("latin-1"), "is not UTF-8; convert it first"),
    ],
)
def test_a_table_of_another_kind_is_said(name: str, content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    for named in ({}, {"text_column": "text"}):
        with pytest.raises(InputError, match=says) as caught:
            dataset(tmp_path / name, **named)
        assert str(caught.value).isprintable()


@pytest.mark.parametrize("header", ["Review; free text", '"Review; free text"'])
def test_one_column_may_have_any_name(header: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(f"{header}\na film\nanother\n", encoding="utf-8")
    assert [
        one.example.text for one in dataset(tmp_path / "x.csv", text_column="Review; free text", unlabelled=True)
    ] == [
        "a film",
        "another",
    ]


def test_a_label_in_brackets_is_no_list(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('text,label\na,[SPAM]\nb,"[1] good"\n', encoding="utf-8")
    found = dataset(tmp_path / "x.csv", label_column="label")
    assert [one.labels for one in found] == [("[SPAM]",), ("[1] good",)]
    (tmp_path / "y.csv").write_text('text,label\na,"[""x"", ""y"""\n', encoding="utf-8")
    with pytest.raises(InputError, match="JSON"):
        dataset(tmp_path / "y.csv", label_column="label")


@pytest.mark.parametrize("ending", WRITERS)
def test_the_case_of_an_ending_does_not_matter(ending: str, tmp_path: Path) -> None:
    path = WRITERS[ending](tmp_path / f"mine{ending}", ROWS).rename(tmp_path / f"MINE{ending.upper()}")
    assert len(dataset(path, **NAMED)) == len(ROWS)
    assert len(dataset(tmp_path, split="MINE", **NAMED)) == len(ROWS)


@pytest.mark.parametrize("ending", WRITERS)
def test_a_pair_column_is_a_second_text(ending: str, tmp_path: Path) -> None:
    path = WRITERS[ending](tmp_path / f"nli{ending}", [{"premise": "it rains", "hypothesis": "it is wet", "gold": 0}])
    data = dataset(path, text_column="premise", pair_column="hypothesis", label_column="gold")
    assert data[0].example.parts == ("it rains", "it is wet")  # type: ignore[attr-defined]


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("role", ["text", "label", "pair", "rationale"])
def test_a_column_that_is_not_there_is_answered_with_those_that_are(ending: str, role: str, tmp_path: Path) -> None:
    path = WRITERS[ending](tmp_path / f"mine{ending}", ROWS)
    with pytest.raises(WhylightError, match=r"'reviw'.*no, review, stars, why, text") as caught:
        dataset(path, **{**NAMED, f"{role}_column": "reviw"})
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message
    if ending in (".csv", ".tsv", ".parquet"):
        assert "Did you mean 'review'?" in message


def test_one_column_cannot_hold_two_things(reviews: Path) -> None:
    with pytest.raises(SettingError, match="one column cannot hold both the text and the label"):
        dataset(reviews, text_column="review", label_column="review")


def test_a_header_without_a_text_says_how_to_name_it(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text("review,stars\na film,1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"no column 'text'; its header is review, stars\. .*--text-column NAME"):
        dataset(path)
    path.write_text("Text,label\na film,1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"its header is Text, label\. .*--text-column Text, in Python text_column='"):
        dataset(path)
    assert len(dataset(path, text_column="Text")) == 1  # a name that is nearly the usual one is no slip then


def test_a_row_without_its_named_text_or_label_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text("review,stars\na film,1\n,2\nso dull,\n", encoding="utf-8")
    named = {"text_column": "review", "label_column": "stars"}
    with pytest.raises(InputError, match=r"line 3 of .* has nothing in 'review', which is to hold the text\."):
        dataset(path, **named)
    kept = dataset(path, drop_broken=True, **named)
    assert [record.labels for record in kept] == [("1",)]
    assert [one.labels for one in dataset(path, drop_broken=True, unlabelled=True, **named)] == [("1",), ()]


def test_a_corpus_with_a_layout_of_its_own_takes_no_columns(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="'sst' has columns of its own; 'text_column' is for files, hf"):
        dataset(f"sst:{tmp_path}", text_column="review")


def test_labels_get_the_names_that_a_map_gives_them(reviews: Path) -> None:
    data = dataset(reviews, labels={5: "good", "1": "bad"}, **NAMED)
    assert [record.labels for record in data] == [("good",), ("bad",)]
    assert [list(record.rationales) for record in data] == [["good"], ["bad"]]
    assert data.label_names == ("bad", "good")  # in the order of the numbers
    assert "labels are renamed: 5 is good, 1 is bad" in data.notes
    assert data.fingerprint() != dataset(reviews, **NAMED).fingerprint()


def test_numbers_keep_their_order_under_names(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps({"text": f"text {n}", "label": n}) + "\n" for n in (10, 2)), encoding="utf-8")
    names = {10: "a", 2: "z", 7: "absent here"}
    assert dataset(path, labels=names).label_names == ("z", "absent here", "a")  # as in a split that has it


def test_two_labels_may_get_one_name(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    row = {"text": "fever and cough", "labels": ["R50", "R05"], "rationales": {"R50": [[0, 5]], "R05": [[0, 15]]}}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    data = dataset(path, labels={"R50": "sign", "R05": "sign"})
    assert data[0].labels == data.label_names == ("sign",)
    assert [data[0].example.show(place) for place in data[0].rationales["sign"].places] == ["fever and cough"]


def test_a_map_that_misses_a_label_is_refused_with_what_it_misses(reviews: Path) -> None:
    with pytest.raises(SettingError, match=r"misses '1', '5' of 'reviews' \(test\).*--map-label 1=NAME") as caught:
        dataset(reviews, labels={}, **NAMED)
    assert "\n" not in str(caught.value)
    with pytest.raises(SettingError, match="misses '5' of"):
        dataset(reviews, labels={1: "bad"}, **NAMED)


@pytest.mark.parametrize("labels", [{1.5: "a"}, {1: ""}, {1: None}, {True: "a"}, {(1,): "a"}, "1=a", ["a", "b"], 3])
def test_a_map_that_is_none_is_refused(labels: Any, reviews: Path) -> None:
    with pytest.raises(SettingError, match="a map of labels says what each is called"):
        dataset(reviews, labels=labels, **NAMED)
    with pytest.raises(SettingError, match="two names for '1': bad, good"):
        dataset(reviews, labels={1: "bad", "1": "good"}, **NAMED)


def test_any_corpus_may_have_its_labels_renamed() -> None:
    data = dataset("planted:", split="dev", labels={"negative": "bad", "positive": "good"})
    assert set(data.label_names) == {"bad", "good"}


def test_a_text_file_has_a_text_per_line_and_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_bytes("A good\u2028film.\r\n\n  so dull\n".encode())
    data = dataset(path)
    assert [record.example.text for record in data] == ["A good\u2028film.", "  so dull"]  # type: ignore[attr-defined]
    assert data.label_names == ()
    assert "the records have no gold label" in data.notes
    with pytest.raises(SettingError, match=r"unknown column of .*texts\.txt' 'review'\. Known: text\."):
        dataset(path, text_column="review")


def test_a_rationale_without_a_label_is_a_flaw_and_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "a film", "rationale": [[0, 1]]}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1 of .* has a 'rationale', but no label.*ignore=rationale"):
        dataset(path, unlabelled=True)
    assert len(dataset(path, unlabelled=True, ignore="rationale")) == 1
