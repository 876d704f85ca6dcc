"""CodiEsp: evidence in several pieces, labels by level, kind and frequency."""

from pathlib import Path

import pytest

from whylight.core.errors import InputError, SettingError
from whylight.data.load import dataset

TEXT = "Varón con fiebre.\r\nTos seca; la fiebre cede.\n"
D, P = "DIAGNOSTICO", "PROCEDIMIENTO"


def _split(root: Path, split: str, rows: list[tuple[str, str, str, str, str]], cases: int = 2) -> None:
    (root / split / "text_files").mkdir(parents=True, exist_ok=True)
    for i in range(cases):
        (root / split / "text_files" / f"c{i}.txt").write_bytes(TEXT.encode())
    (root / split / f"{split}X.tsv").write_bytes("".join("\t".join(row) + "\n" for row in rows).encode())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    train = [
        ("c0", D, "r50.9", "fiebre", "10 16"),
        ("c1", D, "r50.9", "fiebre", "10 16"),
        ("c0", D, "r05", "Tos seca", "19 27"),
        ("c0", P, "bw03zzz", "con", "6 9"),
    ]
    dev = [
        ("c0", D, "r50.9", "fiebre", "32 38"),
        ("c0", D, "r50.9", "fiebre", "10 16"),
        ("c0", D, "r50.8", "fiebre cede", "10 16;39 43"),
        ("c0", D, "z99", "Varón... seca", "0 5;23 27"),
        ("c0", P, "bw03zzz", "con", "6 9"),
    ]
    _split(tmp_path, "train", train)
    _split(tmp_path, "dev", dev)
    return tmp_path


def test_evidence_slices_the_spanish_text_with_its_own_line_ends(root: Path) -> None:
    data = dataset(f"codiesp:{root}", split="dev")
    assert data.multi_label
    assert data.label_names == ("r05", "r50.8", "r50.9", "z99")
    first, second = data.records
    assert first.example.text == TEXT
    assert first.labels == ("r50.8", "r50.9", "z99")
    marked = {label: [first.example.show(s) for s in r.places] for label, r in first.rationales.items()}
    assert marked == {"r50.8": ["fiebre", "cede"], "r50.9": ["fiebre", "fiebre"], "z99": ["Varón", "seca"]}
    assert [span.start for span in first.rationales["r50.9"].places] == [10, 32]
    assert (second.labels, second.rationales) == ((), {})
    assert data.notes == ("1 cases have none of the labels",)


def test_level_kind_and_top_choose_the_labels(root: Path) -> None:
    spec = f"codiesp:{root}"
    by_category = dataset(spec, split="dev", level="category")
    assert by_category.label_names == ("r05", "r50", "z99")
    assert len(by_category[0].rationales["r50"].places) == 3
    assert dataset(spec, split="dev", kind="procedure").label_names == ("bw03zzz",)
    assert dataset(spec, split="dev", kind="procedure", level="category").label_names == ("bw0",)
    top = dataset(spec, split="dev", top=1)
    assert top.label_names == ("r50.9",)
    assert top[0].labels == ("r50.9",)
    with pytest.raises(SettingError, match="'top' must be at least 1"):
        dataset(spec, split="dev", top=0)


def test_what_differs_from_the_annotated_text_is_counted(root: Path) -> None:
    rows = [("c0", D, "r05", "Tos seca", "19 28"), ("c0", D, "r05", "Tos  seca", "19 22;22 22;23 27")]
    _split(root, "test", rows)
    data = dataset(f"codiesp:{root}")
    assert "1 mentions differ from their annotated text" in data.notes
    assert "1 empty pieces of evidence are dropped" in data.notes
    assert all(span.start < span.end for span in data[0].rationales["r05"].places)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("c0", D, "r05", "x", "10 999"), "line 1 .*offset outside 'c0.txt'"),
        (("c0", D, "r05", "x", "17 19"), "line 1 .*white space alone"),
        (("c0", D, "r05", "x", "10-16"), "line 1 .*'begin end;...'"),
        (("c9", D, "r05", "x", "1 2"), "line 1 .*the case 'c9', which has no text"),
        (("c0", "OTRO", "r05", "x", "1 2"), "line 1 .*the type 'OTRO'"),
        (("c0", D, "r05", "x", "1 2\textra"), "line 1 .*6 columns"),
    ],
)
def test_a_broken_row_is_a_sentence_with_file_and_line(
    row: tuple[str, str, str, str, str], message: str, root: Path
) -> None:
    _split(root, "test", [row])
    with pytest.raises(InputError, match=message):
        dataset(f"codiesp:{root}")
