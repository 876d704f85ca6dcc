"""Relative sufficiency: the mean relative drop with the most important features alone, for more and more of them.

    rel suff = 1/K sum over k = 1 ... K of max(0, f(x) - f(the top k features alone)) / f(x),   K = min(words, n)

nan where f(x) is not above 0; probabilities always are. Lower is better. The published code (`published=True`) takes
the top 100, 98, ..., 2 words.
Reference: Edin et al. 2024, equation 8. Cost: at most `words` forward passes for each target, and 1 for the untouched
input.
"""

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._curves import cumulative_counts, keep_drop, relative
from whylight.views.game import Game


@metric(cite="edin2024", higher_is_better=False)
def relative_sufficiency(
    explanation: Explanation, game: Game, *, words: int = 100, step: int | None = None, published: bool = False
) -> Floats:
    """Average the relative drop with the top 1, 2, ... features alone, one value a target (nan for scores up to 0)."""
    counts = cumulative_counts(game.n_features, words=words, step=step, published=published, kept=True)
    return relative(np.maximum(0.0, keep_drop(explanation, game, counts)), game.full)
