"""Rotten Tomatoes sentence polarity v1.0: review snippets, positive or negative.

Layout: `rt-polarity.pos` and `rt-polarity.neg` (also with `.txt`), one sentence per line, Windows-1252.
Counts: 5331 + 5331, without an official split. Ours: each class is permuted by a fixed seed and cut 80/10/10 into
`train` (8530), `dev` (1066) and `test` (1066), so that the classes are balanced in each; `all` is the whole.
`split_seed` makes another split.

Text: without the blank at its end. Words: white-space tokens. No rationale.

Reference: Pang and Lee 2005.
"""

from pathlib import Path

import numpy as np

from whylight.core.text import Text
from whylight.data import _reading, _tokens
from whylight.data._reading import Reading
from whylight.data.dataset import Dataset, Record
from whylight.data.registry import corpus
from whylight.data.sst import LABELS

SHARES = {"train": (0.0, 0.8), "dev": (0.8, 0.9), "test": (0.9, 1.0), "all": (0.0, 1.0)}
"""Which stretch of the permuted sentences a split is."""


@corpus(cite="pang2005", splits=tuple(SHARES))
def rt_polarity(path: Path, split: str, reading: Reading, *, split_seed: int = 2005) -> Dataset:
    """Rotten Tomatoes sentences, two classes, with a seeded 80/10/10 split of our own."""
    records: list[Record] = []
    for suffix, label in zip(("neg", "pos"), LABELS, strict=True):
        file = _reading.find_file(path, f"rt-polarity.{suffix}", f"rt-polarity.{suffix}.txt")
        sentences = [(n, line.strip()) for n, line in reading.lines(file, encoding="windows-1252")]
        order = np.random.default_rng(split_seed).permutation(len(sentences))
        first, last = (round(share * len(sentences)) for share in SHARES[split])
        for i in np.sort(order[first:last]):
            number, text = sentences[i]
            records.append(Record(f"{suffix}-{number}", Text(text, words=_tokens.found(text)), (label,)))
    note = "there is no official split" + ("" if split == "all" else f"; this one is drawn with seed {split_seed}")
    return Dataset("rt_polarity", split, LABELS, tuple(records), notes=(note,))
