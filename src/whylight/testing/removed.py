"""What is left of a window in a row: of tokens, of a plain text, of a picture."""

from collections.abc import Sequence

import numpy as np

from whylight.core.arrays import Bools
from whylight.core.encoded import Window
from whylight.views.batch import Batch
from whylight.views.pixels import PixelBatch, PixelWindow
from whylight.views.texts import TextBatch, TextWindow
from whylight.views.tokens import NO_FEATURE, TokenBatch, TokenWindow


def content_left(window: Window, rows: Batch) -> str:
    """Return what of a window's features still stands in a row, or nothing."""
    if isinstance(window, TextWindow) and isinstance(rows, TextBatch):
        return ", ".join(p for p in _pieces_kept(window, np.ones(len(window.spans), dtype=bool)) if p in rows.texts[0])
    if isinstance(window, PixelWindow) and isinstance(rows, PixelBatch):
        same_pixels = int((rows.frames[0] == window.frame).all(axis=-1).sum())
        return f"{same_pixels} pixels" if same_pixels else ""
    if not isinstance(window, TokenWindow) or not isinstance(rows, TokenBatch):
        return ""
    ids, content = rows.ids[0, : rows.lengths[0]], window.feature != NO_FEATURE
    if len(ids) != len(window.ids):
        return "" if len(ids) <= int((~content).sum()) else f"{len(ids)} tokens"
    zeroed = np.zeros(len(ids), dtype=bool) if rows.zeroed is None else rows.zeroed[0]
    same = content & (ids == window.ids) & ~zeroed
    return f"tokens {ids[same].tolist()}" if same.any() else ""


def holds(window: Window, mask: Bools, row: Batch) -> bool:
    """Say whether what a mask keeps of a window stands in a row, in its order."""
    if isinstance(window, TextWindow) and isinstance(row, TextBatch):
        return _follow(_pieces_kept(window, mask), row.texts[0])
    if isinstance(window, PixelWindow) and isinstance(row, PixelBatch):
        return bool((row.frames[0] == window.frame)[mask[window.labels]].all())
    if not isinstance(window, TokenWindow) or not isinstance(row, TokenBatch):
        return True
    kept = window.kept(mask[None])[0]
    ids, types = row.ids[0, : row.lengths[0]], row.types[0, : row.lengths[0]]
    if len(ids) == len(window.ids):
        zeroed = np.zeros(len(ids), dtype=bool) if row.zeroed is None else row.zeroed[0]
        if ((ids == window.ids) & (types == window.types) & ~zeroed)[kept].all():
            return True
        if zeroed.any():
            return False
    return _within(list(zip(window.ids[kept], window.types[kept], strict=True)), list(zip(ids, types, strict=True)))


def _pieces_kept(window: TextWindow, mask: Bools) -> list[str]:
    return [window.text[span.start : span.end] for span, kept in zip(window.spans, mask, strict=True) if kept]


def _follow(pieces: Sequence[str], text: str) -> bool:
    place = 0
    for piece in pieces:
        place = text.find(piece, place) + len(piece)
        if place < len(piece):
            return False
    return True


def _within(some: Sequence[object], others: Sequence[object]) -> bool:
    """Say whether some things stand among others in their order."""
    left = iter(others)
    return all(any(one == other for other in left) for one in some)


def row_shown(rows: Batch) -> str:
    """Return a row for a message."""
    if isinstance(rows, TokenBatch):
        return str(rows.ids[0, : rows.lengths[0]].tolist())
    return repr(rows.texts[0]) if isinstance(rows, TextBatch) else f"{len(rows)} rows"
