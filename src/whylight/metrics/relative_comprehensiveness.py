"""Relative comprehensiveness: the mean relative drop while the most important features go, one after the other.

    rel comp = 1/K sum over k = 1 ... K of max(0, f(x) - f(x without the top k features)) / f(x),   K = min(words, n)

nan where f(x) is not above 0; probabilities always are. Higher is better. The published code (`published=True`) takes
0, 2, ..., 98 of 100 words, the untouched point among them, and does not clip; the paper's formula clips each drop at 0.
Reference: Edin et al. 2024, equation 9. Cost: at most `words` forward passes for each target, and 1 for the untouched
input.
"""

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._curves import cumulative_counts, relative, removal_drop
from whylight.views.game import Game


@metric(cite="edin2024", higher_is_better=True)
def relative_comprehensiveness(
    explanation: Explanation, game: Game, *, words: int = 100, step: int | None = None, published: bool = False
) -> Floats:
    """Average the relative drop without the top 1, 2, ... features, one value a target (nan for scores up to 0)."""
    counts = cumulative_counts(game.n_features, words=words, step=step, published=published, kept=False)
    drops = removal_drop(explanation, game, counts)
    return relative(drops if published else np.maximum(0.0, drops), game.full)
