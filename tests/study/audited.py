"""What tests of the audit share: a model whose log-odds are a sum over words, and texts labelled by hand."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import whylight as wl
from whylight.core.rationale import Rationale
from whylight.core.text import Span, Text
from whylight.data.dataset import Dataset, Record
from whylight.study.subject import Subject, open_subject

NAMES = ("negative", "positive")


def additive(worth: Mapping[str, float], *, mask: str | None = "blank") -> Any:
    """A model whose log-odds for "positive" are the sum of what its words are worth."""

    def answer(texts: list[str]) -> Any:
        sums = np.asarray([sum(worth.get(word, 0.0) for word in text.split()) for text in texts])
        positive = 1 / (1 + np.exp(-sums))
        return np.stack([1 - positive, positive], axis=1)

    return wl.load(answer, labels=NAMES, mask_string=mask)


def labelled(*texts: str, label: str | None = "positive", marked: str = "") -> Dataset:
    """Texts of one label, with a rationale of every occurrence of one word."""
    records = []
    for number, text in enumerate(texts):
        start = text.find(marked) if marked else -1
        places = {"positive": Rationale((Span(0, start, start + len(marked)),))} if start >= 0 else {}
        records.append(Record(f"t{number}", Text(text), () if label is None else (label,), places))
    return Dataset("hand", "test", NAMES, tuple(records))


def subject(classifier: Any, data: Dataset, *removers: str, **settings: Any) -> Subject:
    return open_subject(classifier, data, removers=removers, settings=settings)
