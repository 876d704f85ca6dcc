"""Data that is read as it is worked on: the records of `wl.dataset`, whatever the form and wherever they lie."""

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import pandas as pd
import pytest

import whylight as wl
from whylight.core.errors import InputError, SettingError
from whylight.data import _seen, stream as streams
from whylight.data._checks import Flaw
from whylight.data._reading import Reading
from whylight.data.dataset import Dataset
from whylight.data.stream import stream

ROWS = [{"text": f"a good film {number}", "label": "positive" if number % 2 else "negative"} for number in range(7)]


def lines(rows: list[dict[str, str]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "csv", "parquet"])
def test_records_are_those_of_a_data_set(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"reviews.{ending}"
    if ending == "jsonl":
        path.write_text(lines(ROWS), encoding="utf-8")
    elif ending == "jsonl.gz":
        path.write_bytes(gzip.compress(lines(ROWS).encode()))
    elif ending == "csv":
        pd.DataFrame(ROWS).to_csv(path, index=False)
    else:
        pd.DataFrame(ROWS).to_parquet(path)
    found = stream(path)
    assert list(found.records()) == list(wl.dataset(path).records)
    assert list(found.records()) == list(found.records())  # as often as one likes
    assert found.count() in ({None} if ending.endswith("gz") else {7})


def test_patterns_folders_and_addresses_are_parts_of_one_table(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    for number, own in enumerate((ROWS[:3], ROWS[3:])):
        (tmp_path / f"part-{number}.jsonl").write_text(lines(own), encoding="utf-8")
        memory.pipe(f"/corpus/part-{number}.jsonl", lines(own).encode())
    whole = list(wl.dataset(tmp_path).records)
    specs = (str(tmp_path), f"{tmp_path}/part-*.jsonl", "memory://corpus/", "memory://corpus/part-*.jsonl")
    for spec in specs:
        assert list(stream(spec).records()) == whole, spec
    assert stream(specs[1]).count() == 7
    assert [record.id for record in whole] == [str(number) for number in range(1, 8)]


def test_labels_are_renamed_and_columns_named(tmp_path: Path) -> None:
    path = tmp_path / "reviews.jsonl"
    path.write_text(lines([{"review": row["text"], "label": row["label"]} for row in ROWS]), encoding="utf-8")
    names = {"positive": "good", "negative": "bad"}
    given = stream(path, labels=names, text_column="review")
    assert list(given.records()) == list(wl.dataset(path, labels=names, text_column="review").records)
    with pytest.raises(InputError, match="misses 'negative'"):
        list(stream(path, labels={"positive": "good"}, text_column="review").records())


def test_a_corpus_and_a_data_set_are_streams_too() -> None:
    whole = wl.dataset("planted:", split="dev", size=6, length=8)
    assert list(stream(whole).records()) == list(whole)
    assert list(stream("planted:", split="dev", size=6, length=8).records()) == list(whole)
    assert stream(whole).count() == 6


def test_what_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "reviews.jsonl"
    path.write_text(lines(ROWS) + "{broken\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 8 of .* is not JSON"):
        list(stream(path).records())
    assert len(list(stream(path, drop_broken=True).records())) == 7
    for spec, said in (
        (str(tmp_path / "none.jsonl"), "there is no file or folder"),
        (str(tmp_path / "none*.jsonl"), "no data file is called"),
        ("nowhere://bucket/x.jsonl", "cannot be read"),
        ("memory://missing/x.jsonl", "cannot be read"),
    ):
        with pytest.raises(InputError, match=said):
            list(stream(spec).records())
    with pytest.raises(SettingError, match="no setting 'colour'"):
        list(stream(path, colour="red").records())


def test_an_id_that_stands_twice_is_refused_or_left_out(tmp_path: Path) -> None:
    path = tmp_path / "reviews.jsonl"
    rows = [{**row, "id": str(number % 5)} for number, row in enumerate(ROWS)]
    path.write_text(lines(rows), encoding="utf-8")
    read = stream(path).records()
    assert [next(read).id for _ in range(5)] == ["0", "1", "2", "3", "4"]
    with pytest.raises(InputError, match=r"^line 6 of .* has the id '0' of an earlier record; ids must be unique\.$"):
        next(read)
    given = stream(path, drop_broken=True)
    reading = given.reading()
    assert [record.example.key for record in given.records(reading)] == [row["text"] for row in ROWS[:5]]
    assert reading.left_out.startswith("2 that cannot be read (line 6 of ")
    assert list(given.records()) == list(wl.dataset(path, drop_broken=True).records)
    (tmp_path / "a.jsonl").write_text(lines(rows[:5]), encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(lines(rows[5:]), encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1 of '.*b\.jsonl' has the id '0'"):
        list(stream(f"{tmp_path}/[ab].jsonl").records())


def test_a_named_corpus_counts_what_it_leaves_out_and_refuses_an_id_that_stands_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = wl.dataset("planted:", split="dev", size=6, length=8)
    twice = replace(whole, records=(*whole.records, whole.records[2]))

    def read(_spec: str, _split: str, reading: Reading, settings: dict[str, Any]) -> Dataset:
        reading.drop(tmp_path / "parts.csv", 3, Flaw("is broken"))
        return twice if settings["size"] == 7 else whole

    monkeypatch.setattr(streams, "read_corpus", read)
    given = stream("planted:", drop_broken=True, size=6, max_file_bytes=99)
    reading = given.reading()
    assert list(given.records(reading)) == list(whole)
    assert reading.left_out == f"1 that cannot be read (line 3 of '{tmp_path / 'parts.csv'}' is broken)"
    with pytest.raises(InputError, match=r"line 3 of .* is broken"):
        list(stream("planted:", size=6).records())
    with pytest.raises(InputError, match=r"record 7 of 'planted' .* of an earlier record"):
        list(stream("planted:", drop_broken=True, size=7).records())


def test_data_in_memory_is_looked_at_alike() -> None:
    whole = wl.dataset("planted:", split="dev", size=6, length=8)
    twice = replace(whole, records=(*whole.records, whole.records[2]))
    with pytest.raises(InputError, match=r"record 7 of 'planted' \(dev\) has the id '.*' of an earlier record"):
        list(stream(twice).records())


def test_ids_are_remembered_in_the_memory_of_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_seen, "_SET_UP", tuple(re.sub(r"= -\d+", "= -64", one) for one in _seen._SET_UP))
    names = [f"\udc80 row {number}" for number in range(20_000)]  # of 20 bytes, more than fit
    with _seen.Seen() as seen:
        for name in names:
            seen.add(name)
        for name in names[::999]:
            with pytest.raises(InputError, match="of an earlier record"):
                seen.add(name)


def test_bounds_that_are_no_numbers_are_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "reviews.jsonl"
    path.write_text(lines(ROWS), encoding="utf-8")
    with pytest.raises(SettingError, match="max_file_bytes"):
        list(stream(path, max_file_bytes="many").records())
