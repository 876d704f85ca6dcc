"""What people marked may be written in several forms; the examples of docs/howto/own_data.md are read as it says."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whylight.core.errors import InputError
from whylight.core.rationale import Rationale, joined
from whylight.core.text import Span
from whylight.data.dataset import Record
from whylight.data.load import dataset

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "howto" / "own_data.md"
EXAMPLE = re.compile(r"```json\n(.*?)\n```\n\nmarks `(.*?)`", re.DOTALL)


def _read(tmp_path: Path, *rows: dict[str, Any], **settings: Any) -> list[Record]:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return list(dataset(path, **settings))


def _marked(record: Record) -> dict[str, list[str]]:
    return {label: [record.example.show(s) for s in one.places] for label, one in record.rationales.items()}


def test_every_example_of_the_document_is_read_as_it_says(tmp_path: Path) -> None:
    examples = EXAMPLE.findall(DOCUMENT.read_text(encoding="utf-8"))
    assert len(examples) == 7
    for content, said in examples:
        (record,) = _read(tmp_path, *map(json.loads, content.splitlines()))
        assert "; ".join(f"{label}: {', '.join(spans)}" for label, spans in _marked(record).items()) == said


def test_a_vote_is_over_characters_and_counts_who_marked_nothing(tmp_path: Path) -> None:
    row = {"text": "a fine film", "label": "x", "rationales": [[[2, 6]], [[2, 11]], [[7, 11]], []]}
    assert _marked(_read(tmp_path, row)[0]) == {}
    assert _marked(_read(tmp_path, row, vote="union")[0]) == {"x": ["fine film"]}
    row["rationales"] = row["rationales"][:3]  # type: ignore[index]
    assert _marked(_read(tmp_path, row)[0]) == {"x": ["fine", "film"]}
    row["rationales"] = [[[2, 6]], [[2, 11]]]
    assert _marked(_read(tmp_path, row)[0]) == {"x": ["fine"]}


def test_a_vote_is_noted(tmp_path: Path) -> None:
    row = {"text": "a fine film", "label": "x", "rationales": [[[2, 6]], [[2, 11]]]}
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    assert "1 records have several annotators, who are joined by majority" in dataset(path).notes


def test_a_vote_equals_counting_characters_one_by_one() -> None:
    random = np.random.default_rng(0)
    for _ in range(200):
        people = [
            Rationale(
                tuple(
                    Span(p, s, s + n) for p, s, n in zip(*random.integers((0, 0, 1), (2, 9, 6), (k, 3)).T, strict=True)
                )
            )
            for k in random.integers(0, 4, size=random.integers(1, 6))
        ]
        marks = [{(s.part, i) for s in one.places for i in range(s.start, s.end)} for one in people]
        votes = {place: sum(place in own for own in marks) for own in marks for place in own}
        for vote, needed in (("majority", len(people) / 2 + 0.25), ("union", 1)):
            found = joined(people, vote)  # type: ignore[arg-type]
            places = [(s.part, i) for s in found.places for i in range(s.start, s.end)]
            assert sorted(places) == sorted(place for place, count in votes.items() if count >= needed)
            assert all((s.part, s.end) not in set(places) for s in found.places)


def test_marks_of_words_end_with_their_text_and_the_words_are_the_features(tmp_path: Path) -> None:
    row = {
        "words": ["he", "ran"],
        "pair": "she sat",
        "pair_tokens": ["she", "sat"],
        "label": 0,
        "rationale": [0, 1, 1, 0],
    }
    (record,) = _read(tmp_path, row)
    assert record.example.parts == ("he ran", "she sat")
    assert record.rationales["0"].places == (Span(0, 3, 6), Span(1, 0, 3))
    assert record.example.words == (Span(0, 0, 2), Span(0, 3, 6), Span(1, 0, 3), Span(1, 4, 7))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "ab", "words": ["a", "c"], "rationale": [0, 1]}, "the word 'c' where its text goes on with 'b'"),
        ({"text": "ab c", "words": ["ab"], "rationale": [1]}, "words that end before 'c'"),
        ({"text": "ab", "words": ["ab"], "rationale": [1, 0]}, "one 0 or 1 for each of 1 words"),
        ({"text": "ab", "words": ["ab"], "rationale": [2]}, "one 0 or 1 for each of 1 words"),
        ({"text": "ab", "words": ["ab"], "pair": "c", "rationale": [1]}, "no 'pair_words'"),
        ({"text": "ab", "rationale": [0, 1]}, "marks of words need 'words'"),
        ({"text": "ab", "rationale": [{"start": 0, "end": 1, "text": "b"}]}, "its text there is 'a'"),
        ({"text": "ab", "rationale": [{"start": 0}]}, "a span is"),
        ({"text": "ab", "rationales": [1, 2]}, "'rationales' with 1; they are"),
        ({"text": "ab", "rationales": [[1, 2, 3]]}, "marks of words need 'words'"),
        ({"text": "ab", "rationales": [[["x", [[0, 1]]]]]}, "a span is"),
        ({"text": "ab", "rationale": [[0, 1]], "rationales": [[[0, 1]]]}, "both 'rationale' and 'rationales'"),
    ],
)
def test_what_is_no_rationale_is_refused(row: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"line 1 of .*{message}"):
        _read(tmp_path, {**row, "label": "x"})


def test_a_column_of_tokens_that_is_no_list_of_words_stops_nobody(tmp_path: Path) -> None:
    (record,) = _read(tmp_path, {"text": "a film", "label": "x", "tokens": 2})
    assert record.example.words is None
    (record,) = _read(tmp_path, {"text": "a film", "label": "x", "words": ["a", "##film"]}, ignore="words")
    assert record.example.words is None


def test_rationales_by_label_are_read_beside_one_label(tmp_path: Path) -> None:
    (record,) = _read(tmp_path, {"text": "a film", "label": "x", "rationales": {"x": [[2, 6]]}})
    assert _marked(record) == {"x": ["film"]}
    with pytest.raises(InputError, match="a rationale for 'y', which is not among its labels"):
        _read(tmp_path, {"text": "a film", "label": "x", "rationales": {"y": [[2, 6]]}})


@pytest.mark.parametrize("column", ["rational", "Rationale", "rationals", "ratoinale", "rationale "])
def test_a_misspelt_rationale_is_refused(column: str, tmp_path: Path) -> None:
    row = {"text": "a film", "label": "x", column: [[2, 6]]}
    with pytest.raises(InputError, match=rf"line 1 .*'{column}', which is not read; rename it to 'rationales?'"):
        _read(tmp_path, row)
    assert _read(tmp_path, row, ignore=f"other,{column}")[0].rationales == {}


@pytest.mark.parametrize("ending", [".jsonl", ".csv"])
def test_columns_that_are_simply_extra_stop_nobody_and_are_named(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"mine{ending}"
    row = {"id": "1", "text": "a film", "label": "x", "source": "web", "date": "today", "texts": "more"}
    lines = [",".join(row), ",".join(row.values())] if ending == ".csv" else [json.dumps(row)]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert dataset(path).losses == ("not in the records: the columns source, date, texts",)


def test_rows_without_a_split_among_rows_with_one_are_refused(tmp_path: Path) -> None:
    rows = ({"text": "a", "label": "x", "split": "test"}, {"text": "b", "label": "x"})
    with pytest.raises(InputError, match=r"line 2 .*no 'split'"):
        _read(tmp_path, *rows)
