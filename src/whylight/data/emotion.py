"""Emotion: English tweets with one of six emotions.

Layout: `train.txt`, `val.txt`, `test.txt`; `text;label` a line, with or without a header. Counts: 16000/2000/2000. No
rationale. Text: lower-cased, without punctuation.

Reference: Saravia et al. 2018.
"""

from pathlib import Path

from whylight.core.errors import unknown
from whylight.core.example import Example
from whylight.data import _reading
from whylight.data.dataset import Dataset, Record
from whylight.data.registry import corpus

LABELS = ("sadness", "joy", "love", "anger", "fear", "surprise")
_HEADERS = ("text;label_name", "text;label")


@corpus(cite="saravia2018", splits=("train", "dev", "test"))
def emotion(path: Path, split: str) -> Dataset:
    """Tweets with six emotions."""
    file = _reading.find(path, *(("val.txt", "dev.txt") if split == "dev" else (f"{split}.txt",)))
    records = []
    for number, line in _reading.lines(file):
        if number == 1 and line.strip() in _HEADERS:
            continue
        text, separator, label = line.rpartition(";")
        if not separator or not text.strip():
            raise _reading.broken(file, number, "is not 'text;label'")
        if label.strip() not in LABELS:
            raise _reading.broken(file, number, f"has an {str(unknown('label', label, LABELS)).rstrip('.')}")
        records.append(Record(f"{split}-{number}", Example(text.strip()), (label.strip(),)))
    return Dataset("emotion", split, LABELS, tuple(records))
