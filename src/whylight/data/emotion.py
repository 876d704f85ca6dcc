"""Emotion: English tweets with one of six emotions.

Layout: `train.txt`, `val.txt`, `test.txt`; `text;label` a line, with or without a header. Counts: 16000/2000/2000. No
rationale. Text: lower-cased, without punctuation.

Reference: Saravia et al. 2018.
"""

from pathlib import Path

from whylight.core.errors import unknown
from whylight.core.text import Text
from whylight.data import _reading
from whylight.data._checks import Flaw, quotable
from whylight.data._reading import Reading
from whylight.data.dataset import Dataset, Record
from whylight.data.registry import corpus

LABELS = ("sadness", "joy", "love", "anger", "fear", "surprise")
_HEADERS = ("text;label_name", "text;label")


@corpus(cite="saravia2018", splits=("train", "dev", "test"))
def emotion(path: Path, split: str, reading: Reading) -> Dataset:
    """Tweets with six emotions."""
    file = _reading.find_file(path, *(("val.txt", "dev.txt") if split == "dev" else (f"{split}.txt",)))
    records = []
    for number, line in reading.lines(file):
        if number == 1 and line.strip() in _HEADERS:
            continue
        try:
            records.append(_record(line, name=f"{split}-{number}"))
        except Flaw as flaw:
            reading.drop(file, number, flaw)
    return Dataset("emotion", split, LABELS, tuple(records))


def _record(line: str, *, name: str) -> Record:
    text, separator, label = line.rpartition(";")
    if not separator or not text.strip():
        raise Flaw("is not 'text;label'")
    if label.strip() not in LABELS:
        raise Flaw(f"has an {str(unknown('label', quotable(label), LABELS)).rstrip('.')}")
    return Record(name, Text(text.strip()), (label.strip(),))
