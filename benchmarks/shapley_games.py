"""Ten texts with the value of every coalition of their words, so that Shapley values are known exactly.

Rule: the sentences of SST's validation split that are not neutral, have 12 to 14 words (punctuation is words too), are
cut into the same words by us and by the treebank, and occur in no other benchmark: 65 of them. Of a random order
(seed 10), the first ten are kept here; methods were developed on others. The game is that of the bundled model: the
logit of the label that it predicts, with absent words masked.

`python benchmarks/shapley_games.py FOLDER`, with the treebank in FOLDER, makes `shapley_games.npz` again: 2^n values of
each text, the i-th of the coalition whose members are the bits of i. It takes minutes. With `--check` some stored
values are held against the model instead. The texts themselves are not kept here: they belong to the treebank.
"""

import sys
from dataclasses import dataclass
from functools import cached_property
from math import comb
from pathlib import Path

import numpy as np
from subjects import SENTENCES, bundled

import whylight as wl
from whylight.core.arrays import Floats
from whylight.core.segment import words
from whylight.core.text import Text
from whylight.explaining.case import open_case
from whylight.explaining.provide import game
from whylight.perturb.binding import bound
from whylight.views.classifier import Request
from whylight.views.game import Game

FILE = Path(__file__).with_suffix(".npz")
SEED, TEXTS = 10, 10
WORDS = range(12, 15)
CHECKED = 16


@dataclass(frozen=True)
class Known:
    """The value of every coalition of a text's words.

    Attributes:
        values: `[2^n]`.
    """

    values: Floats

    @property
    def n_features(self) -> int:
        """Return the number of words."""
        return len(self.values).bit_length() - 1

    @cached_property
    def shapley(self) -> Floats:
        """Return the exact Shapley values: the mean over sizes of the mean gain at that size."""
        n, every = self.n_features, np.arange(len(self.values))
        size = coalitions(n).sum(axis=1)
        weight = np.asarray([1 / (n * comb(n - 1, s)) for s in range(n)])
        found = np.empty(n)
        for feature in range(n):
            without = every[(every >> feature) & 1 == 0]
            gains = self.values[without | 1 << feature] - self.values[without]
            found[feature] = weight[size[without]] @ gains
        return found


def coalitions(n: int) -> np.ndarray:
    """Return all coalitions of n features, `[2^n, n]`."""
    return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(bool)


def known_games() -> list[Known]:
    """Read the stored games."""
    with np.load(FILE) as stored:
        return [Known(stored[f"values{number}"].astype(np.float64)) for number in range(TEXTS)]


def largest_difference(known: Known, text: str) -> float:
    """Return by how much some stored values of a text differ from what the bundled model says now."""
    some = np.random.default_rng(0).choice(len(known.values), CHECKED, replace=False)
    found = _game(text)(coalitions(known.n_features)[some])[:, 0]
    return float(np.abs(found - known.values[some]).max())


def drawn(folder: str) -> list[str]:
    """Draw the texts from the treebank."""
    texts = [record.example.text for record in wl.dataset(f"sst:{folder}", split="dev").records]
    fit = [
        text
        for text in texts
        if len(found := words(text)) in WORDS
        and [text[start:end] for start, end in found] == text.split(" ")
        and text not in SENTENCES
    ]
    order = np.random.default_rng(SEED).permutation(len(fit))
    return [fit[number] for number in order[:TEXTS]]


def _game(text: str) -> Game:
    case = open_case(bundled(), Text(text))
    targets, _ = case.targets("predicted")
    return game(case, Request(targets, "logit"), bound("mask"))


def _write(texts: list[str]) -> None:
    values = {}
    for number, text in enumerate(texts):
        players = _game(text)
        values[f"values{number}"] = players(coalitions(players.n_features))[:, 0].astype(np.float32)
    np.savez_compressed(FILE, **values)


if __name__ == "__main__":
    sentences = drawn(sys.argv[1])
    if "--check" in sys.argv:
        print(max(map(largest_difference, known_games(), sentences)))
    else:
        _write(sentences)
