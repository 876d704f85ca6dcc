"""Planted evidence: generated documents in which known words decide the label, so that the right explanation is known.

No path: `planted:`. `size` documents per split, of `length` words each, from a vocabulary of our own. Deterministic in
the settings; no document of one split is in another (a document belongs to the split that the checksum of its text
names).

Two classes, `negative` and `positive`, half the documents each; or, with `multi_label`, four labels, each true of
half the documents, independently. Every label has its own trigger words; the other words are filler and say nothing.

- `single`: one trigger decides. Rationale: it.
- `redundant`: two or three triggers of the label, each of which decides alone. Rationale: all of them.
- `negated`: a trigger right after "not" means the opposite: the other class, or that the label is false. Documents
  without such a trigger have a "not" before a filler word, so that "not" being there says nothing. Rationale: the
  trigger, with its "not".
- `conjunctive`: positive (or true) if both words of a pair are there; otherwise one of the two is. Rationale: both;
  none where the label is false, since what is absent cannot be marked.

A label that is false has no trigger, but for `negated` (half of them) and `conjunctive`.

Reference: none; the variants are those on which deletion, occlusion and gradients are known to differ.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from whylight.core.errors import SettingError
from whylight.core.rationale import Rationale
from whylight.core.text import Text
from whylight.data import _tokens
from whylight.data.dataset import Dataset, Record
from whylight.data.registry import corpus

SPLITS = ("train", "dev", "test")
NOT = "not"
CLASSES = {"negative": ("dreadful", "clumsy", "tedious"), "positive": ("splendid", "graceful", "charming")}
PAIR = ("amber", "violet")
"""The two words that `conjunctive` needs for the positive class."""
TOPICS = {
    "music": ("violin", "melody", "drummer"),
    "sport": ("goalkeeper", "sprint", "racket"),
    "cooking": ("saucepan", "garlic", "oven"),
    "travel": ("luggage", "passport", "harbour"),
}
"""Labels of the multi-label documents; `conjunctive` needs the first two words of each."""
FILLER = tuple(
    """about across again along around before behind below between beyond building chair clock corner curtain day door
    down during early evening every figure floor front garden glass hall hand hour house inside kept ladder later letter
    lower middle moment morning near next number often open other outside page paper path people picture place quiet
    road room round second seen several shelf short side small some stair step still stone street table their then third
    through today together toward under until upper usual walk wall week while window without year""".split()  # noqa: SIM905  a vocabulary reads best as a text
)
FILLER_LEFT = 5
"""A document has at least this many filler words, so that there are enough different ones."""
Pattern = Literal["single", "redundant", "negated", "conjunctive"]


@dataclass(frozen=True, slots=True)
class PlantedPhrase:
    """Words that stand side by side, and the label that they are evidence for, if any."""

    words: tuple[str, ...]
    label: str | None = None


@corpus(cite="", splits=SPLITS, needs_path=False)
def planted(  # noqa: PLR0913  settings
    path: Path,  # noqa: ARG001  every corpus has one
    split: str,
    *,
    size: int = 200,
    length: int = 20,
    variant: Pattern = "single",
    multi_label: bool = False,
    seed: int = 0,
) -> Dataset:
    """Generated documents whose label known words decide; the rationale is exact."""
    labels = tuple(TOPICS if multi_label else CLASSES)
    shortest = FILLER_LEFT + (len(TOPICS) if multi_label else 1) * (3 if variant == "redundant" else 2)
    if size < 2 or size % 2:  # noqa: PLR2004  one of each class
        raise SettingError(f"the setting 'size' must be an even number, so that the classes are balanced, not {size}.")
    if length < shortest:
        raise SettingError(f"the setting 'length' must be at least {shortest} for these documents, not {length}.")
    number = SPLITS.index(split)
    random = np.random.default_rng([seed, number])
    truth = {label: random.permutation(np.arange(size) % 2 == 1) for label in (labels if multi_label else ["positive"])}
    records = []
    for i in range(size):
        gold = (
            tuple(label for label in truth if truth[label][i]) if multi_label else (labels[int(truth["positive"][i])],)
        )
        evidence = _topics(gold, variant, random) if multi_label else _classes(gold[0], variant, random)
        records.append(_record(f"{split}-{i}", gold, evidence, length=length, split=number, random=random))
    note = f"generated: {variant}, {length} words, seed {seed}"
    return Dataset("planted", split, labels, tuple(records), multi_label=multi_label, notes=(note,))


def _record(
    name: str,
    gold: tuple[str, ...],
    evidence: list[PlantedPhrase],
    *,
    length: int,
    split: int,
    random: np.random.Generator,
) -> Record:
    """Fill up with filler words and shuffle, until the text is one of this split."""
    taken = sum(len(unit.words) for unit in evidence)
    while True:
        filler = [PlantedPhrase((word,)) for word in random.choice(FILLER, size=length - taken)]
        units = [*evidence, *filler]
        units = [units[i] for i in random.permutation(len(units))]
        text, words = _tokens.join_tokens([str(word) for unit in units for word in unit.words])
        if zlib.crc32(text.encode()) % len(SPLITS) == split:
            break
    owners = [unit.label for unit in units for _ in unit.words]
    rationales = {}
    for label in gold:
        spans = tuple(_tokens.marked_spans(words, [owner == label for owner in owners]))
        if spans:
            rationales[label] = Rationale(spans)
    return Record(name, Text(text, words=words), gold, rationales)


def _classes(label: str, variant: Pattern, random: np.random.Generator) -> list[PlantedPhrase]:
    """Return the planted words of a document of one of two classes."""
    if variant == "conjunctive":
        return _pair(PAIR, "positive", random, true=label == "positive")
    if variant == "negated":
        other = next(name for name in CLASSES if name != label)
        if random.random() < 0.5:  # noqa: PLR2004  half the documents
            return [PlantedPhrase((NOT, _random_word(CLASSES[other], random)), label)]
        return [PlantedPhrase((_random_word(CLASSES[label], random),), label), _idle_not(random)]
    return _triggers(CLASSES[label], label, variant, random)


def _topics(gold: tuple[str, ...], variant: Pattern, random: np.random.Generator) -> list[PlantedPhrase]:
    """Return the planted words of a document with any number of labels."""
    units: list[PlantedPhrase] = []
    negations = 0
    for label, words in TOPICS.items():
        if variant == "conjunctive":
            units += _pair(words[:2], label, random, true=label in gold)
        elif label in gold:
            units += _triggers(words, label, variant, random)
        elif variant == "negated" and random.random() < 0.5:  # noqa: PLR2004  half of them
            units.append(PlantedPhrase((NOT, _random_word(words, random))))
            negations += 1
    if variant == "negated" and not negations:
        units.append(_idle_not(random))
    return units


def _triggers(words: Sequence[str], label: str, variant: Pattern, random: np.random.Generator) -> list[PlantedPhrase]:
    count = int(random.integers(2, 4)) if variant == "redundant" else 1
    return [PlantedPhrase((str(word),), label) for word in random.choice(list(words), size=count, replace=False)]


def _pair(words: Sequence[str], label: str, random: np.random.Generator, *, true: bool) -> list[PlantedPhrase]:
    """Return both words as evidence for a true label, or one of them for a false one."""
    return (
        [PlantedPhrase((word,), label) for word in words] if true else [PlantedPhrase((_random_word(words, random),))]
    )


def _idle_not(random: np.random.Generator) -> PlantedPhrase:
    return PlantedPhrase((NOT, _random_word(FILLER, random)))


def _random_word(words: Sequence[str], random: np.random.Generator) -> str:
    return str(random.choice(list(words)))
