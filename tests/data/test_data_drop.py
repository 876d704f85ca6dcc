"""What is left out is said: records that cannot be read, and texts that are in two splits. Reading has bounds."""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from whylight.cli import main
from whylight.core.errors import InputError, SettingError
from whylight.core.text import Text
from whylight.data import _reading
from whylight.data.dataset import Dataset, Record
from whylight.data.load import dataset

GOOD = '{"text": "good", "label": "x"}'


def _lines(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _eraser(tmp_path: Path, *names: str) -> str:
    (tmp_path / "data" / "docs").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("nobody may read this", encoding="utf-8")
    (tmp_path / "data" / "docs" / "one.txt").write_text("a fine film", encoding="utf-8")
    rows = [{"annotation_id": name, "classification": "POS", "evidences": [], "query": "?"} for name in names]
    _lines(tmp_path / "data" / "test.jsonl", *map(json.dumps, rows))
    return f"eraser:{tmp_path / 'data'}"


def test_broken_records_are_dropped_counted_and_three_of_them_named(tmp_path: Path) -> None:
    path = _lines(tmp_path / "mine.jsonl", GOOD, "{", "5", '{"text": " "}', '{"text": "a"}', GOOD)
    with pytest.raises(InputError, match="line 2 of"):
        dataset(path)
    data = dataset(path, drop_broken=True)
    assert [record.id for record in data] == ["1", "6"]
    (loss,) = data.losses
    assert loss.startswith("not in the records: 4 that cannot be read (line 2 of ")
    assert "line 3 of" in loss
    assert "line 4 of" in loss
    assert loss.endswith("; and 1 more)")


def test_one_missing_document_does_not_stop_a_corpus(tmp_path: Path) -> None:
    spec = _eraser(tmp_path, "one.txt", "gone.txt")
    with pytest.raises(InputError, match=r"line 2 of .*names the document 'gone\.txt'"):
        dataset(spec)
    data = dataset(spec, drop_broken=True)
    assert [record.id for record in data] == ["one.txt"]
    assert "1 that cannot be read" in data.losses[0]


def test_dropping_leaves_nothing_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no record .*: line 1 of .* is not JSON"):
        dataset(_lines(tmp_path / "mine.jsonl", "{"), drop_broken=True)


def test_a_broken_row_leaves_out_its_whole_case(tmp_path: Path) -> None:
    (tmp_path / "test" / "text_files").mkdir(parents=True)
    for name in ("c1", "c2"):
        (tmp_path / "test" / "text_files" / f"{name}.txt").write_text("fiebre y tos", encoding="utf-8")
    rows = ("c1\tDIAGNOSTICO\tr50\tfiebre\t0 6", "c1\tDIAGNOSTICO\tr05\ttos\t9 99", "c2\tDIAGNOSTICO\tr05\ttos\t9 12")
    _lines(tmp_path / "test" / "testX.tsv", *rows)
    data = dataset(f"codiesp:{tmp_path}", drop_broken=True)
    assert [record.id for record in data] == ["c2"]
    assert "1 that cannot be read (line 2 of" in data.losses[0]


@pytest.mark.parametrize("name", ["../../secret.txt", "../test.jsonl", "./../../secret.txt", "/etc/passwd"])
def test_a_document_outside_its_folder_is_not_read(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leads out of the folder"):
        dataset(_eraser(tmp_path, name))


def test_a_link_that_leads_out_is_not_read(tmp_path: Path) -> None:
    spec = _eraser(tmp_path, "two.txt")
    (tmp_path / "data" / "docs" / "two.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(InputError, match="leads out of the folder"):
        dataset(spec)


def test_a_link_within_the_folder_is_read(tmp_path: Path) -> None:
    spec = _eraser(tmp_path, "two.txt")
    (tmp_path / "data" / "docs" / "two.txt").symlink_to("one.txt")
    assert dataset(spec)[0].example.text == "a fine film"


def test_a_packed_file_may_not_unpack_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_reading, "ALWAYS_UNPACKED", 2**20)
    path = tmp_path / "mine.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n" * (2**20 + 2**21), mtime=0))
    with pytest.raises(InputError, match=r"mine\.jsonl\.gz' unpacks to more than 100 times its size; 'max_expansion'"):
        dataset(path)
    with pytest.raises(InputError, match="holds no record"):
        dataset(path, max_expansion=10_000)


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".tsv"])
def test_a_long_line_is_refused_without_reading_it_whole(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"mine{ending}"
    with path.open("wb") as stream:
        stream.truncate(2**31)
    with pytest.raises(InputError, match=r"line 1 of .* is longer than 67,108,864 bytes; 'max_record_bytes'"):
        dataset(path)


def test_the_bounds_are_settings(tmp_path: Path) -> None:
    path = _lines(tmp_path / "mine.jsonl", GOOD, GOOD.replace("good", "longer"), GOOD)
    assert len(dataset(path)) == 3
    assert len(dataset(path, max_record_bytes="31", drop_broken="true")) == 2  # type: ignore[arg-type]
    with pytest.raises(InputError, match="holds more than 40 bytes; 'max_file_bytes'"):
        dataset(path, max_file_bytes=40)
    with pytest.raises(SettingError, match="'max_record_bytes' must be at least 1"):
        dataset(path, max_record_bytes=0)


def _data(split: str, *texts: str) -> Dataset:
    return Dataset("mine", split, ("x",), tuple(Record(f"{split}-{i}", Text(t), ("x",)) for i, t in enumerate(texts)))


def test_shared_texts_are_left_out_and_named() -> None:
    kept = _data("train", "one", "two", "three").without(_data("dev", "two", "four"))
    assert [record.id for record in kept] == ["train-0", "train-2"]
    assert kept.losses == ("not in the records: 1 of train that are in dev too: 'train-1' (\"two\")",)
    assert _data("train", "one").without(_data("dev", "two")).notes == ()
    with pytest.raises(InputError, match="every text"):
        _data("train", "one").without(_data("dev", "one"))


def test_a_pair_is_shared_if_both_texts_are_whatever_the_words() -> None:
    one = Dataset("a", "train", (), (Record("1", Text("t", "p"), ()), Record("2", Text("t", "q"), ())))
    other = Dataset("b", "dev", (), (Record("1", Text("t", "q", words=()), ()),))
    assert [record.id for record in one.shared_with(other)] == ["2"]
    assert [record.id for record in one.shared_with(other, pairs=False)] == ["1", "2"]


def _run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: Any) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["whylight", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main.run()
    code = ended.value.code
    return code if isinstance(code, int) else 0, capsys.readouterr().err


def test_commands_refuse_shared_texts_by_name_or_drop_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f'{{"text": "text number {i}", "label": "{i % 2}", "rationale": [[0, 4]]}}' for i in range(8)]
    train = _lines(tmp_path / "train.jsonl", *rows, "{")
    _lines(tmp_path / "dev.jsonl", *rows[:3], rows[3].replace("3", "30"))
    asked = ("train", "--data", train, "--dev", tmp_path / "dev.jsonl", "--out", tmp_path / "out", "--epochs", 1)
    code, said = _run(monkeypatch, capsys, *asked)
    assert (code, said.count("\n")) == (2, 1)
    assert "line 9 of" in said
    code, said = _run(monkeypatch, capsys, *asked, "--drop-broken")
    assert code == 2
    assert "3 training texts are in the validation data too: '1' (\"text number 0\")" in said
    assert "--drop-duplicates" in said
    assert not (tmp_path / "out").exists()
    code, said = _run(monkeypatch, capsys, *asked, "--drop-broken", "--drop-duplicates")
    assert code == 0
    assert "not in the records: 1 that cannot be read" in said
    assert "not in the records: 3 of train that are in dev too" in said
    receipt = json.loads((tmp_path / "out" / "training.json").read_text(encoding="utf-8"))
    assert any("3 of train that are in dev too" in note for note in receipt["asked"]["data"]["notes"])


def test_a_split_among_the_settings_of_the_data_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _lines(tmp_path / "mine.jsonl", GOOD)
    code, said = _run(monkeypatch, capsys, "evaluate", "--data", path, "--data-set", "split=dev")
    assert code == 2
    assert "'split' has an option of its own, --split" in said
