"""Large Movie Review Dataset (IMDB): whole reviews, positive or negative.

Layout, either of: the original folders `train/pos/ID_RATING.txt`, `train/neg`, `test/pos`, `test/neg` (25000/25000);
or JSON lines `{"id", "text", "label": "pos" | "neg"}` in `train*.jsonl[.gz]` and `test*.jsonl[.gz]` (the sample at
hand: 5000/5000). There is no dev split. No rationale.

Text: untouched, with its `<br />`; `clean=True` puts a blank for each of these, as paper 3 does.

Reference: Maas et al. 2011.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from whylight.core.errors import InputError
from whylight.core.text import Text
from whylight.data import _reading
from whylight.data._checks import Flaw, add, name_of, quotable, visible_text
from whylight.data._reading import RawRow, Reading
from whylight.data.dataset import Dataset, Record
from whylight.data.registry import corpus
from whylight.data.sst import LABELS

_NAMES = dict(zip(("neg", "pos"), LABELS, strict=True))
_BREAKS = re.compile(r"(?<!\s)(?:\s*<br\s*/?>\s*)+")


@corpus(cite="maas2011", splits=("train", "test"))
def imdb(path: Path, split: str, reading: Reading, *, clean: bool = False) -> Dataset:
    """IMDB reviews, two classes."""
    original = path / split
    found = _folders(original, reading) if original.is_dir() else _json_reviews(path, split, reading)
    records: dict[str, Record] = {}
    for file, number, row in found:
        try:
            record = _record(row, clean=clean, number=number)
            add(records, record.id, record)
        except Flaw as flaw:
            reading.drop(file, number, flaw)
    return Dataset(
        "imdb", split, LABELS, tuple(records.values()), notes=("<br /> replaced by a blank",) if clean else ()
    )


def _record(row: RawRow, *, clean: bool, number: int) -> Record:
    if row.get("label") not in tuple(_NAMES) or not isinstance(row.get("text"), str):
        raise Flaw("is not {'text': ..., 'label': 'pos' or 'neg'}")
    text = visible_text(_BREAKS.sub(" ", row["text"]) if clean else row["text"], "text")
    return Record(name_of(row.get("id", number), "id"), Text(text), (_NAMES[row["label"]],))


def _folders(folder: Path, reading: Reading) -> Iterator[tuple[Path, int, RawRow]]:
    for label in _NAMES:
        if not (folder / label).is_dir():
            raise InputError(f"the folder '{quotable(folder)}' holds no '{label}'; it needs 'pos' and 'neg'.")
        for file in sorted((folder / label).glob("*.txt")):
            try:
                _reading.inside(folder / label, file.name)
                text = reading.whole(file)
            except InputError as flaw:
                reading.drop(file, 1, flaw)
            else:
                yield file, 1, {"id": f"{folder.name}/{label}/{file.stem}", "text": text, "label": label}


def _json_reviews(path: Path, split: str, reading: Reading) -> Iterator[tuple[Path, int, RawRow]]:
    file = _reading.find_file(path, f"{split}*.jsonl", f"{split}*.jsonl.gz")
    for number, row in reading.json_lines(file):
        yield file, number, row
