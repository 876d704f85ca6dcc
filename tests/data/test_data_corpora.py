"""The smaller corpora, on made-up files in their public layouts."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from whylight.core.errors import InputError
from whylight.data.dataset import Dataset
from whylight.data.load import dataset


def _texts(data: Dataset) -> list[tuple[str, tuple[str, ...]]]:
    return [(record.example.text, record.labels) for record in data]


def test_sst2_reads_quotes_as_characters_and_leaves_its_test_split_unlabelled(tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text("sentence\tlabel\nit 's \"fine \t1\na bore \t0\n", encoding="utf-8")
    (tmp_path / "test.tsv").write_text("index\tsentence\n0\tso so .\n", encoding="utf-8")
    dev, test = dataset(f"sst2:{tmp_path}", split="dev"), dataset(f"sst2:{tmp_path}")
    assert _texts(dev) == [("it 's \"fine", ("positive",)), ("a bore", ("negative",))]
    assert dev[0].example.words is not None
    assert [dev[0].example.show(word) for word in dev[0].example.words] == ["it", "'s", '"fine']
    assert _texts(test) == [("so so .", ())]
    assert "the records have no gold label" in test.notes


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text\tlabel\na\t1\n", "line 1 .*header"),
        ("sentence\tlabel\na\t2\n", "line 2 .*label '2'; it must be 0 or 1"),
        ("sentence\tlabel\na\n", "line 2 .*1 columns"),
        ("", "line 1 .*header"),
    ],
)
def test_a_broken_sst2_file_is_a_sentence(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        dataset(f"sst2:{tmp_path}", split="dev")


@pytest.mark.parametrize("header", ["", "text;label_name\n"])
def test_emotion_with_or_without_its_header(header: str, tmp_path: Path) -> None:
    (tmp_path / "val.txt").write_text(header + "i feel well; really;joy\ni am afraid;fear\n", encoding="utf-8")
    data = dataset(f"emotion:{tmp_path}", split="dev")
    assert _texts(data) == [("i feel well; really", ("joy",)), ("i am afraid", ("fear",))]
    assert data.label_names == ("sadness", "joy", "love", "anger", "fear", "surprise")


@pytest.mark.parametrize(("line", "message"), [("no label", "text;label"), ("a;jy", "unknown label 'jy'.*joy")])
def test_a_broken_emotion_line_is_a_sentence(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "test.txt").write_text(f"fine;joy\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=f"line 2 .*{message}"):
        dataset(f"emotion:{tmp_path}")


def test_rt_polarity_is_split_by_seed_into_balanced_disjoint_parts(tmp_path: Path) -> None:
    for suffix in ("pos", "neg"):
        sentences = "".join(f"{suffix} sentence {i} \x96 caf\xe9 \x85 \n" for i in range(50))
        (tmp_path / f"rt-polarity.{suffix}").write_bytes(sentences.encode("latin-1"))
    spec = f"rt_polarity:{tmp_path}"
    splits = {split: dataset(spec, split=split) for split in ("train", "dev", "test", "all")}
    assert {name: len(data) for name, data in splits.items()} == {"train": 80, "dev": 10, "test": 10, "all": 100}
    ids = {name: {record.id for record in data} for name, data in splits.items()}
    assert ids["train"] | ids["dev"] | ids["test"] == ids["all"]
    for data in splits.values():
        assert sum(record.labels == ("positive",) for record in data) * 2 == len(data)
    assert splits["all"][0].example.text == "neg sentence 0 – café …"
    assert dataset(spec) == splits["test"]
    assert dataset(spec, split_seed=1).records != splits["test"].records
    assert "seed 2005" in splits["test"].notes[0]


def test_imdb_reads_folders_and_json_lines_alike(tmp_path: Path) -> None:
    text = "Fine.<br /><br />Really."
    for label in ("pos", "neg"):
        (tmp_path / "folders" / "test" / label).mkdir(parents=True)
        (tmp_path / "folders" / "test" / label / "0_9.txt").write_text(text, encoding="utf-8")
    rows = [{"id": f"test/{label}/0_9", "text": text, "label": label} for label in ("neg", "pos")]
    (tmp_path / "test_2.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    data = dataset(f"imdb:{tmp_path}")
    assert data == dataset(f"imdb:{tmp_path / 'folders'}")
    assert _texts(data) == [(text, ("negative",)), (text, ("positive",))]
    assert dataset(f"imdb:{tmp_path}", clean=True)[0].example.text == "Fine. Really."


def test_a_broken_imdb_line_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text('{"text": "a", "label": 1}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1 .*'pos' or 'neg'"):
        dataset(f"imdb:{tmp_path}")


def test_yelp_reads_label_and_text_and_cleans_on_demand(tmp_path: Path) -> None:
    (tmp_path / "yelp").write_text('1 good food .\n0 "\\""bad\\ "" food .\\n\\nnever again\n', encoding="utf-8")
    data = dataset(f"yelp:{tmp_path}")
    assert _texts(data) == [("good food .", ("positive",)), ('"\\""bad\\ "" food .\\n\\nnever again', ("negative",))]
    assert dataset(f"yelp:{tmp_path / 'yelp'}") == data
    assert dataset(f"yelp:{tmp_path}", clean="true")[1].example.text == '""bad" food . never again'
    (tmp_path / "yelp").write_text("good food\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 1 .*'label text'"):
        dataset(f"yelp:{tmp_path}")


PAIR: dict[str, Any] = {
    "dev_index": 7,
    "label": "contradiction",
    "premise": ["Two", "men", "sit", "still", "."],
    "hypothesis": ["They", "", "run", "."],
    "premise_highlight": [0, 0, 1, 1, 0],
    "hypothesis_highlight": [0, 1, 1, 0],
}


def _esnli(path: Path, row: dict[str, Any]) -> str:
    (path / "dev_highlights_some.jsonl").write_text(json.dumps(row), encoding="utf-8")
    return f"esnli:{path}"


def test_esnli_marks_runs_of_words_in_both_sentences(tmp_path: Path) -> None:
    data = dataset(_esnli(tmp_path, PAIR), split="dev")
    record = data[0]
    assert (record.id, record.labels) == ("7", ("contradiction",))
    assert record.example.parts == ("Two men sit still .", "They run .")
    spans = record.rationales["contradiction"].places
    assert [(span.part, record.example.show(span)) for span in spans] == [(0, "sit still"), (1, "run")]
    assert record.example.words is not None
    assert " ".join(map(record.example.show, record.example.words)) == "Two men sit still . They run ."
    assert data.label_names == ("entailment", "neutral", "contradiction")
    assert "1 empty tokens are left out" in data.notes


def test_esnli_without_a_mark_has_no_rationale(tmp_path: Path) -> None:
    unmarked = {**PAIR, "premise_highlight": [0] * 5, "hypothesis_highlight": [0] * 4}
    assert dataset(_esnli(tmp_path, unmarked), split="dev")[0].rationales == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "maybe"}, "unknown label 'maybe'.*neutral"),
        ({"premise": "Two men"}, "no 'premise' as a list"),
        ({"premise_highlight": [1]}, "one 0 or 1 for each of 5 tokens"),
        ({"hypothesis_highlight": [0, 2, 0, 0]}, "one 0 or 1 for each of 4 tokens"),
        ({"hypothesis": ["", "", " ", ""]}, "empty 'hypothesis'"),
    ],
)
def test_a_broken_esnli_line_is_a_sentence(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"line 1 .*{message}"):
        dataset(_esnli(tmp_path, {**PAIR, **change}), split="dev")
