"""SST-2 of the GLUE benchmark: phrases and sentences of the Stanford Sentiment Treebank, lower-cased.

Layout: `train.tsv`, `dev.tsv`, `test.tsv`; a header `sentence<TAB>label`, in the test file `index<TAB>sentence`. Quotes
are characters. Counts: 67349/872/1821; the test split is unlabelled. No rationale: see `sst`.

Text: as in the file, without the blank at its end. Words: white-space tokens, as in the treebank.

Reference: Socher et al. 2013; Wang et al. 2019 (GLUE).
"""

from pathlib import Path

from whylight.core.text import Text
from whylight.data import _reading, _tokens
from whylight.data._checks import Flaw, quotable, visible_text
from whylight.data._reading import Reading
from whylight.data.dataset import Dataset, Record
from whylight.data.registry import corpus
from whylight.data.sst import LABELS


@corpus(cite="wang2019", splits=("train", "dev", "test"))
def sst2(path: Path, split: str, reading: Reading) -> Dataset:
    """GLUE SST-2, two classes; its test split has no labels."""
    file = _reading.find_file(path, f"{split}.tsv")
    rows = ((number, line.split("\t")) for number, line in reading.lines(file))
    _, header = next(rows, (1, []))
    if "sentence" not in header:
        raise _reading.broken(file, 1, "is not the header 'sentence<TAB>label' or 'index<TAB>sentence'")
    records = []
    for number, cells in rows:
        try:
            records.append(_record(header, cells, name=f"{split}-{number}"))
        except Flaw as flaw:
            reading.drop(file, number, flaw)
    return Dataset("sst2", split, LABELS, tuple(records))


def _record(header: list[str], cells: list[str], *, name: str) -> Record:
    if len(cells) != len(header):
        raise Flaw(f"has {len(cells)} columns; its header has {len(header)}")
    row = dict(zip(header, cells, strict=True))
    if row.get("label", "0") not in ("0", "1"):
        raise Flaw(f"has the label '{quotable(row['label'])}'; it must be 0 or 1")
    text = visible_text(row["sentence"].strip(), "sentence")
    labels = (LABELS[int(row["label"])],) if "label" in row else ()
    return Record(name, Text(text, words=_tokens.found(text)), labels)
