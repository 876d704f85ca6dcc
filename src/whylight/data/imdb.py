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
from whylight.core.example import Example
from whylight.data import _reading
from whylight.data.dataset import Dataset, Record
from whylight.data.registry import corpus
from whylight.data.sst import LABELS

_NAMES = dict(zip(("neg", "pos"), LABELS, strict=True))
_BREAKS = re.compile(r"(?:\s*<br\s*/?>\s*)+")


@corpus(cite="maas2011", splits=("train", "test"))
def imdb(path: Path, split: str, *, clean: bool = False) -> Dataset:
    """IMDB reviews, two classes."""
    original = path / split
    rows = _folders(original) if original.is_dir() else _json(path, split)
    records = tuple(
        Record(name, Example(_BREAKS.sub(" ", text) if clean else text), (_NAMES[label],)) for name, text, label in rows
    )
    return Dataset("imdb", split, LABELS, records, notes=("<br /> replaced by a blank",) if clean else ())


def _folders(folder: Path) -> Iterator[tuple[str, str, str]]:
    for label in _NAMES:
        if not (folder / label).is_dir():
            raise InputError(f"the folder '{folder}' holds no '{label}'; it needs 'pos' and 'neg'.")
        for file in sorted((folder / label).glob("*.txt")):
            yield f"{folder.name}/{label}/{file.stem}", _reading.whole(file), label


def _json(path: Path, split: str) -> Iterator[tuple[str, str, str]]:
    file = _reading.find(path, f"{split}*.jsonl", f"{split}*.jsonl.gz")
    for number, row in _reading.json_lines(file):
        text, label = row.get("text"), row.get("label")
        if not isinstance(text, str) or not text.strip() or label not in _NAMES:
            raise _reading.broken(file, number, "is not {'text': ..., 'label': 'pos' or 'neg'}")
        yield str(row.get("id", number)), text, str(label)
