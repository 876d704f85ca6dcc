"""Explanations of one text at several layers as a picture: a row per layer, the last on top, and a column per word.

Words stand below the first layer, where they enter the model, and wrap into blocks as a text does. All layers have one
scale, so that a layer in which nothing is strong looks so; coloured by its own strongest word each, they are drawn once
more, folded. That word's score stands beside the layer.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from rich.cells import cell_len

from whylight.core.arrays import Floats, Ints
from whylight.core.explanation import Explanation
from whylight.core.labels import Target
from whylight.core.text import text_of
from whylight.report.colours import steps
from whylight.report.numbers import shown_score
from whylight.report.stacks import method_of

WIDTH = 125
"""Characters beside each other in a block."""
LONGEST = 18
"""Characters of a word that are shown; of a sentence, its beginning."""
GAP = 2
"""What the space around a word takes, in characters."""
BLOCKS = 10
"""Blocks of a text; of a longer one, those with the strongest words are shown."""
LISTED = 3
"""How many words are listed for each layer."""
_TIP = 60
"""Characters of a feature in a tooltip."""


@dataclass(frozen=True, slots=True)
class ShadedCell:
    """A word at a layer: its shade step on the scale of all layers and on that of its own, and its score in words."""

    step: int
    own: int
    tip: str


@dataclass(frozen=True, slots=True)
class Band:
    """A layer of a block: its number, its strongest score, and a cell per word."""

    layer: int
    peak: str
    cells: tuple[ShadedCell, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Words beside each other.

    Attributes:
        part: The part of the example that they are of.
        first: Whether they are the first ones shown of their part.
        direction: `ltr` or `rtl`.
        words: The words.
        bands: The layers, the last first.
    """

    part: int
    first: bool
    direction: str
    words: tuple[str, ...]
    bands: tuple[Band, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """One method at every layer, for one target.

    Attributes:
        method: Name of the method.
        signed: Whether it speaks for and against.
        same: Whether it holds for every label alike.
        layers: The numbers of the layers, ascending.
        blocks: The words, in blocks.
        hidden: How many words are not shown, because the text is long.
        strongest: Of each layer, the last first: its number, and its strongest words with their scores.
    """

    method: str
    signed: bool
    same: bool
    layers: tuple[int, ...]
    blocks: tuple[Block, ...]
    hidden: int
    strongest: tuple[tuple[int, tuple[tuple[str, str], ...]], ...]


def picture(stack: Sequence[Explanation], target: Target) -> Picture:
    """Return the picture of one method that explains a target at several layers, the first layer first."""
    first, receipt = stack[0], stack[0].provenance
    scores = np.stack([one.row(target) for one in stack])  # [layers, features]
    words = [" ".join(first.example.show(span).split()) for span in first.spans]
    layers = tuple(int(str(one.provenance.settings["layer"])) for one in stack)
    cut = _blocks_of_words(first, words)
    shown = strongest_blocks(cut, scores)
    together = np.reshape(steps(scores.ravel(), signed=receipt.signed), scores.shape)
    shades = [
        list(zip(row, steps(own, signed=receipt.signed), strict=True))
        for row, own in zip(together.tolist(), scores, strict=True)
    ]
    seen: set[int] = set()
    blocks = []
    for places in shown:
        part = first.spans[int(places[0])].part
        bands = tuple(
            Band(
                layer, _peak(row, signed=receipt.signed), _cells(places, words, layer, row, own, signed=receipt.signed)
            )
            for layer, row, own in reversed(list(zip(layers, scores, shades, strict=True)))
        )
        labels = tuple(_shortened_word(words[i], LONGEST) for i in places)
        blocks.append(Block(part, part not in seen, _direction(labels), labels, bands))
        seen.add(part)
    return Picture(
        method=method_of(first),
        signed=receipt.signed,
        same=not receipt.class_specific,
        layers=layers,
        blocks=tuple(blocks),
        hidden=len(words) - sum(len(places) for places in shown),
        strongest=tuple(
            (layer, _listed(words, row, signed=receipt.signed))
            for layer, row in reversed(list(zip(layers, scores, strict=True)))
        ),
    )


def _blocks_of_words(explanation: Explanation, words: Sequence[str]) -> list[Ints]:
    """Cut the features of each part, in reading order, into blocks of about equal width."""
    widths = np.asarray([max(GAP, min(cell_len(word), LONGEST)) + GAP for word in words])
    blocks: list[Ints] = []
    for part in range(len(text_of(explanation.example).parts)):
        inside = [i for i, span in enumerate(explanation.spans) if span.part == part]
        places = np.asarray(sorted(inside, key=lambda i: explanation.spans[i]), dtype=np.int64)
        count = ceil(widths[places].sum() / WIDTH)
        ends = widths[places].cumsum()
        number = np.minimum((ends - 1) * count // max(1, int(widths[places].sum())), count - 1)
        blocks += [places[number == one] for one in range(count) if (number == one).any()]
    return blocks


def strongest_blocks(blocks: list[Ints], scores: Floats) -> list[Ints]:
    """Keep the blocks that hold the strongest words of a layer, of equals those of more layers, in reading order."""
    peaks = np.abs(scores).max(axis=1, keepdims=True)
    relative = np.abs(scores) / np.where(peaks > 0, peaks, 1.0)
    best = [relative[:, places].max(axis=1) for places in blocks]  # of each block, [layers]
    order = sorted(range(len(blocks)), key=lambda number: (-best[number].max(), -best[number].sum()))
    return [blocks[number] for number in sorted(order[:BLOCKS])]


def _cells(
    places: Ints, words: Sequence[str], layer: int, row: Floats, shades: Sequence[tuple[int, int]], *, signed: bool
) -> tuple[ShadedCell, ...]:
    score = "+.6g" if signed else ".6g"
    return tuple(
        ShadedCell(*shades[i], f"{_shortened_word(words[i], _TIP)} · layer {layer} · {format(float(row[i]), score)}")
        for i in map(int, places)
    )


def _peak(row: Floats, *, signed: bool) -> str:
    strongest = float(row[np.abs(row).argmax()]) if len(row) else 0.0
    return shown_score(strongest, peak=abs(strongest), signed=signed)


def _listed(words: Sequence[str], row: Floats, *, signed: bool) -> tuple[tuple[str, str], ...]:
    peak = float(np.abs(row).max(initial=0.0))
    order = [int(i) for i in np.argsort(-np.abs(row), kind="stable")[:LISTED] if row[i] != 0]
    return tuple((_shortened_word(words[i], _TIP), shown_score(float(row[i]), peak=peak, signed=signed)) for i in order)


def _shortened_word(word: str, longest: int) -> str:
    return word if len(word) <= longest else f"{word[: longest - 1]}\u2026"


def _direction(words: Sequence[str]) -> str:
    """Return the direction of the first character that has one."""
    kinds = (unicodedata.bidirectional(character) for word in words for character in word)
    strong = next((kind for kind in kinds if kind in ("L", "R", "AL")), "L")
    return "ltr" if strong == "L" else "rtl"
