"""Removers for models that read text: a removed word is left out, or replaced by a string that the user names."""

from collections.abc import Callable
from functools import partial

from whylight.core.arrays import Bools
from whylight.core.encoded import Encoded

TextRemover = Callable[[Encoded, Bools], list[str]]
"""An encoded text and keep masks `[coalitions, features]` -> one text a coalition."""


def delete(encoded: Encoded, keep: Bools) -> list[str]:
    """Join the kept features by one blank; the untouched text stays as it is."""
    pieces = [encoded.example.slice(span) for span in encoded.spans]
    return [
        encoded.example.text if row.all() else " ".join(p for p, kept in zip(pieces, row, strict=True) if kept)
        for row in keep
    ]


def mask(encoded: Encoded, keep: Bools, *, string: str) -> list[str]:
    """Put a string in the place of each removed feature; everything between features stays."""
    return [_masked(encoded, row, string) for row in keep]


def removers(string: str | None) -> dict[str, TextRemover]:
    """Return the text removers by name, the default first."""
    available: dict[str, TextRemover] = {"delete": delete}
    if string is not None:
        available["mask"] = partial(mask, string=string)
    return available


def _masked(encoded: Encoded, keep: Bools, string: str) -> str:
    text, position, pieces = encoded.example.text, 0, []
    for span, kept in zip(encoded.spans, keep, strict=True):
        if not kept:
            pieces += [text[position : span.start], string]
            position = span.end
    return "".join([*pieces, text[position:]])
