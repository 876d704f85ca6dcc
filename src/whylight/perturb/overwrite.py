"""Mask, unk, pad, neutral: another token, or a string that the user names, stands in the place of every removed piece.

Length and attention stay as they are; in a plain text everything between features does.
"""

import numpy as np

from whylight.core.arrays import Bools
from whylight.core.registry import remover
from whylight.views.batch import Variants
from whylight.views.texts import TextBatch, TextWindow
from whylight.views.tokens import TokenWindow


@remover(replacement="mask")
def mask(window: TokenWindow | TextWindow, keep: Bools) -> Variants:
    """Put the mask token, or the string that stands for it, in the place of removed words."""
    if isinstance(window, TextWindow):
        return Variants(TextBatch(tuple(_masked(window, row, window.replacements["mask"]) for row in keep)))
    return _overwritten(window, keep, "mask")


@remover(replacement="unk")
def unk(window: TokenWindow, keep: Bools) -> Variants:
    """Put the unknown token in the place of removed words."""
    return _overwritten(window, keep, "unk")


@remover(replacement="pad")
def pad(window: TokenWindow, keep: Bools) -> Variants:
    """Put the padding token in the place of removed words; attention still sees it."""
    return _overwritten(window, keep, "pad")


@remover(replacement="neutral")
def neutral(window: TokenWindow, keep: Bools) -> Variants:
    """Put a token that says nothing, such as "...", in the place of removed words of a prompt."""
    return _overwritten(window, keep, "neutral")


def _overwritten(window: TokenWindow, keep: Bools, name: str) -> Variants:
    return Variants(window.rows(np.where(window.kept(keep), window.ids, window.replacements[name])))


def _masked(window: TextWindow, keep: Bools, string: str) -> str:
    position, pieces = 0, []
    for span, kept in zip(window.spans, keep, strict=True):
        if not kept:
            pieces += [window.text[position : span.start], string]
            position = span.end
    return "".join([*pieces, window.text[position:]])
