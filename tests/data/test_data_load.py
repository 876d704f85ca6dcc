"""What a user types becomes a corpus and a path; what does not exist is answered with what does."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from whylight.core.errors import InputError, SettingError
from whylight.data._reading import Reading
from whylight.data.load import dataset
from whylight.data.registry import CORPORA

DESIGNED = {
    "codiesp",
    "emotion",
    "eraser",
    "esnli",
    "files",
    "hf",
    "imdb",
    "planted",
    "rt_polarity",
    "sst",
    "sst2",
    "yelp",
}
ROWS = [{"text": "a fine film", "label": "positive"}, {"text": "a dull film", "label": "negative"}]


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.txt").write_text("(3 (2 a) (4 gem))\n(1 (2 a) (0 bore))\n", encoding="utf-8")
    return tmp_path


def test_every_corpus_of_the_design_is_registered_with_path_and_split() -> None:
    assert set(CORPORA.names()) >= DESIGNED
    for name in CORPORA.names():
        spec = CORPORA[name]
        assert spec.consumes == ((Path, str, Reading) if spec.facts["needs_path"] else (Path, str))
        assert spec.summary
        assert set(spec.facts) == {"cite", "splits", "needs_path"}


def test_a_known_name_before_the_colon_decides(trees: Path) -> None:
    data = dataset(f"sst:{trees}", split="dev")
    assert (data.name, data.split, len(data)) == ("sst", "dev", 2)
    assert data[0].labels == ("positive",)


@pytest.mark.parametrize("alias", ["val", "valid", "validation"])
def test_validation_has_several_names_and_one_split(trees: Path, alias: str) -> None:
    assert dataset(f"sst:{trees}", split=alias) == dataset(f"sst:{trees}", split="dev")


def test_settings_are_parsed_as_on_the_command_line(trees: Path) -> None:
    assert "half the words" in dataset(f"sst:{trees}", rationale="phrases").notes[0]
    with pytest.raises(SettingError, match=r"'rationale' 'phrase'.*carton, phrases"):
        dataset(f"sst:{trees}", rationale="phrase")
    with pytest.raises(SettingError, match=r"unknown setting of 'sst' 'colour'.*rationale"):
        dataset(f"sst:{trees}", colour="red")


def test_a_path_may_hold_colons(tmp_path: Path) -> None:
    odd = _write(tmp_path / "run:12" / "a:b.jsonl", ROWS)
    assert len(dataset(str(odd))) == 2
    assert len(dataset(odd)) == 2
    assert len(dataset(f"files:{odd}")) == 2


def test_a_path_object_is_never_a_corpus_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _write(tmp_path / "sst" / "test.jsonl", ROWS)
    assert len(dataset(Path("sst"))) == 2


def test_a_drive_letter_is_part_of_the_path() -> None:
    with pytest.raises(InputError, match=r"no file or folder 'C:\\data\\x.jsonl'"):
        dataset(r"C:\data\x.jsonl")


def test_an_unknown_corpus_is_answered_with_the_known_ones() -> None:
    with pytest.raises(SettingError, match=r"unknown corpus 'sts'\. Did you mean 'sst'.*codiesp.*yelp"):
        dataset("sts:/somewhere")
    with pytest.raises(SettingError, match=r"'rt-polarity'\. Did you mean 'rt_polarity'"):
        dataset("rt-polarity:/somewhere")
    with pytest.raises(SettingError, match="unknown corpus 'movies'"):
        dataset("movies")


@pytest.mark.parametrize("spec", ["here/and/gone", "gone.csv", "a fine film, " * 500, "zero\0byte.csv"])
def test_what_is_neither_a_path_nor_a_name_is_one_sentence(spec: str) -> None:
    with pytest.raises(InputError, match="there is no file or folder") as caught:
        dataset(spec)
    assert len(str(caught.value)) < 300


def test_an_unknown_split_is_answered_with_the_known_ones(trees: Path) -> None:
    with pytest.raises(SettingError, match=r"unknown split of 'sst' 'tset'.*'test'.*train, dev, test"):
        dataset(f"sst:{trees}", split="tset")


def test_a_corpus_without_its_path_says_how_to_give_it() -> None:
    for spec in ("sst", "sst:"):
        with pytest.raises(InputError, match="sst:/path"):
            dataset(spec)
    assert len(dataset("planted")) == len(dataset("planted:")) == 200


def test_a_file_is_not_read_for_every_split(trees: Path) -> None:
    with pytest.raises(InputError, match=r"is a file; give the folder that holds test\.txt"):
        dataset(f"sst:{trees / 'train.txt'}")


def test_one_class_only_is_a_note(tmp_path: Path) -> None:
    data = dataset(_write(tmp_path / "one.jsonl", ROWS[:1]))
    assert "every labelled record has the label 'positive'" in data.notes


class _Rows(list[dict[str, Any]]):
    """What the library hands over, as far as it is used."""

    def __init__(self, rows: list[dict[str, Any]], names: list[str] | None) -> None:
        super().__init__(rows)
        self.column_names = list(rows[0])
        self.features = {name: SimpleNamespace() for name in rows[0]}
        if names:
            self.features["label"].names = names


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def install(rows: list[dict[str, Any]], names: list[str] | None = None) -> None:
        found = {"validation": _Rows(rows, names)}
        library = SimpleNamespace(load_dataset=lambda name, subset: found if (name, subset) else None)
        monkeypatch.setitem(sys.modules, "datasets", library)  # type: ignore[arg-type]

    return install


def test_hub_data_uses_class_names_and_the_split_that_the_hub_calls_validation(hub: Callable[..., None]) -> None:
    hub([{"sentence": "fine", "label": 1}, {"sentence": "dull", "label": -1}], ["negative", "positive"])
    data = dataset("hf:stanford/sst", split="dev")
    assert data.label_names == ("negative", "positive")
    assert [record.labels for record in data] == [("positive",), ()]
    assert data[0].example.text == "fine"


def test_hub_pairs_and_columns_are_named_by_settings(hub: Callable[..., None]) -> None:
    hub([{"a": "one", "b": "two", "label": 10}, {"a": "three", "b": "four", "label": 9}])
    data = dataset("hf:pairs", split="dev", text_column="a", pair_column="b")
    assert data[0].example.parts == ("one", "two")
    assert data.label_names == ("9", "10")
    with pytest.raises(SettingError, match=r"unknown column of 'hf:pairs' 'text'.*a, b, label"):
        dataset("hf:pairs", split="dev")
    with pytest.raises(SettingError, match=r"unknown split of 'hf:pairs' 'test'.*validation"):
        dataset("hf:pairs", text_column="a")


def test_the_hub_without_its_library_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match="pip install datasets"):
        dataset("hf:glue")
