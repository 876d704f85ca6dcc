"""Delete: removed features are left out, and the rest closes up.

Tokens are dropped without tokenising again; positions are counted anew. Of a plain text, the kept features are joined
by one blank, and the untouched text stays as it is.
"""

import numpy as np

from whylight.core.arrays import Bools
from whylight.core.registry import remover
from whylight.views.batch import Variants
from whylight.views.texts import TextBatch, TextWindow
from whylight.views.tokens import TokenBatch, TokenWindow


@remover()
def delete(window: TokenWindow | TextWindow, keep: Bools) -> Variants:
    """Leave removed words out."""
    return Variants(
        _shortened_texts(window, keep) if isinstance(window, TextWindow) else _shortened_tokens(window, keep)
    )


def _shortened_tokens(window: TokenWindow, keep: Bools) -> TokenBatch:
    kept = window.kept(keep)
    order = np.argsort(~kept, axis=1, kind="stable")  # kept tokens first, in reading order
    return TokenBatch(window.ids[order], window.types[order], kept.sum(axis=1))


def _shortened_texts(window: TextWindow, keep: Bools) -> TextBatch:
    pieces = [window.text[span.start : span.end] for span in window.spans]
    return TextBatch(
        tuple(
            window.text if row.all() else " ".join(p for p, kept in zip(pieces, row, strict=True) if kept)
            for row in keep
        )
    )
