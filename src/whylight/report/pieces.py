"""A text as coloured pieces: cut at its features, leaving out no character."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.labels import Target
from whylight.core.text import Span, text_of
from whylight.report.colours import steps
from whylight.report.numbers import exact_score

LONG = 400
"""Number of pieces above which a text scrolls in its own box on screen."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text: a feature, or what stands between two features.

    Attributes:
        text: The characters.
        step: Shade step, -10 to 10.
        scores: Scores of the features here; empty between features, several where features share characters.
    """

    text: str
    step: int = 0
    scores: tuple[float, ...] = ()


TextPieces = tuple[tuple[Piece, ...], ...]
"""The pieces of each part of a text, in reading order."""


def pieces_of(explanation: Explanation, target: Target) -> TextPieces:
    """Cut each part of a text at its features."""
    scores = explanation.row(target)
    return tuple(tuple(_cut_part(explanation, scores, part)) for part in range(len(text_of(explanation.example).parts)))


def few_pieces(explanation: Explanation, target: Target) -> TextPieces:
    """Cut a text, a long one only where it is coloured: under ten methods it would otherwise weigh megabytes."""
    parts = pieces_of(explanation, target)
    return parts if len(explanation.places) <= LONG else tuple(_uncoloured_joined(pieces) for pieces in parts)


def tooltip(piece: Piece, *, signed: bool) -> str:
    """Return the exact score or scores of a piece."""
    return ", ".join(exact_score(score, signed=signed) for score in piece.scores)


def _cut_part(explanation: Explanation, scores: Floats, part: int) -> list[Piece]:
    text, cursor = text_of(explanation.example).parts[part], 0
    shades = steps(scores, signed=explanation.provenance.signed)
    pieces = []
    for cluster in _clusters(explanation.spans, part):
        start = explanation.spans[cluster[0]].start
        end = max(explanation.spans[i].end for i in cluster)
        if start > cursor:
            pieces.append(Piece(text[cursor:start]))
        step = max((shades[i] for i in cluster), key=abs)
        pieces.append(Piece(text[start:end], step, tuple(float(scores[i]) for i in cluster)))
        cursor = end
    return [*pieces, Piece(text[cursor:])] if cursor < len(text) else pieces


def _clusters(spans: Sequence[Span], part: int) -> list[list[int]]:
    """Return the features of a part in reading order; those that share characters stand together."""
    inside = sorted((i for i, span in enumerate(spans) if span.part == part), key=lambda i: spans[i])
    clusters: list[list[int]] = []
    end = -1
    for i in inside:
        if clusters and spans[i].start < end:
            clusters[-1].append(i)
        else:
            clusters.append([i])
        end = max(end, spans[i].end)
    return clusters


def _uncoloured_joined(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Join stretches without colour."""
    made: list[Piece] = []
    for piece in pieces:
        if piece.step:
            made.append(piece)
        elif made and not made[-1].step:
            made[-1] = replace(made[-1], text=made[-1].text + piece.text)
        else:
            made.append(Piece(piece.text))
    return tuple(made)
