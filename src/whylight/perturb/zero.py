"""Zero: the ids stay, and the word embedding of every removed piece is 0."""

import numpy as np

from whylight.core.arrays import Bools
from whylight.core.registry import remover
from whylight.views.batch import Variants
from whylight.views.tokens import TokenWindow


@remover(replacement="zero")
def zero(window: TokenWindow, keep: Bools) -> Variants:
    """Give removed words a word embedding of 0, in models whose embeddings can be reached."""
    kept = window.kept(keep)
    return Variants(window.rows(np.broadcast_to(window.ids, kept.shape), zeroed=~kept))
