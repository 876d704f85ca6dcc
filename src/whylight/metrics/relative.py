"""Faithfulness in relation to what there is to lose: the whole score, or the drop to the empty input.

Normalised metrics divide by the drop of the null input, the one with every feature removed; relative ones by the score
of the untouched input. Features are ranked by signed score, ties in reading order.
"""

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._curves import (
    check_share,
    cumulative_counts,
    keep_drop,
    null_drop,
    relative,
    removal_drop,
    share_of,
    top_count,
)
from whylight.views.game import Game


@metric(cite="carton2020", higher_is_better=True)
def normalised_comprehensiveness(explanation: Explanation, game: Game, *, share: float = 0.2) -> Floats:
    """Measure the drop without the top features as a share of the drop without everything, one value per target.

        norm comp = max(0, f(x) - f(x without the top k %)) / d,   d = max(0, f(x) - f(nothing)),   clipped to [0, 1]

    Where the null input scores as high as the text (d < 1e-5) the value is 0. Higher is better. The code of Ferreira et
    al. adds 2e-4 to d and takes zero vectors of the reduced length for the null input, so that d changes with k.
    Reference: Carton et al. 2020. Cost: 1 forward pass for each target, and 2 for the untouched and the empty input.
    """
    check_share("share", share)
    drop = removal_drop(explanation, game, [top_count(share, game.n_features)])[:, 0]
    return share_of(drop, null_drop(game))


@metric(cite="carton2020", higher_is_better=True)
def normalised_sufficiency(explanation: Explanation, game: Game, *, share: float = 0.2) -> Floats:
    """Measure how much of the drop without everything the top features alone prevent, one value per target.

        norm suff = 1 - max(0, f(x) - f(the top k % alone)) / d,   d = max(0, f(x) - f(nothing)),   clipped to [0, 1]

    This is (suff - suff0) / (1 - suff0) with suff = 1 - max(0, f(x) - f(the top k % alone)), and suff0 the same of the
    null input. Where that scores as high as the text (d < 1e-5) the value is 0. Unlike `sufficiency`, higher is better.
    Ferreira et al. print 1 - suff in the denominator; their code has 1 - suff0, less 1e-4.
    Reference: Carton et al. 2020. Cost: 1 forward pass for each target, and 2 for the untouched and the empty input.
    """
    check_share("share", share)
    drop = keep_drop(explanation, game, [top_count(share, game.n_features)])[:, 0]
    null = null_drop(game)
    return share_of(null - np.maximum(0.0, drop), null)


@metric(cite="edin2024", higher_is_better=True)
def relative_comprehensiveness(
    explanation: Explanation, game: Game, *, words: int = 100, step: int | None = None, published: bool = False
) -> Floats:
    """Average the relative drop without the top 1, 2, ... features, one value per target (nan for scores up to 0).

        rel comp = 1/K sum over k = 1 ... K of max(0, f(x) - f(x without the top k)) / f(x),   K = min(words, n)

    nan where f(x) is not above 0; probabilities always are. Higher is better. The published code (`published=True`)
    takes 0, 2, ..., 98 of 100 words, the untouched point among them, and does not clip; the paper's formula clips each
    drop at 0.
    Reference: Edin et al. 2024, equation 9. Cost: at most `words` forward passes for each target, and 1 for the
    untouched input.
    """
    counts = cumulative_counts(game.n_features, words=words, step=step, published=published, kept=False)
    drops = removal_drop(explanation, game, counts)
    return relative(drops if published else np.maximum(0.0, drops), game.full)


@metric(cite="edin2024", higher_is_better=False)
def relative_sufficiency(
    explanation: Explanation, game: Game, *, words: int = 100, step: int | None = None, published: bool = False
) -> Floats:
    """Average the relative drop with the top 1, 2, ... features alone, one value per target (nan for scores up to 0).

        rel suff = 1/K sum over k = 1 ... K of max(0, f(x) - f(the top k features alone)) / f(x),   K = min(words, n)

    nan where f(x) is not above 0; probabilities always are. Lower is better. The published code (`published=True`)
    takes the top 100, 98, ..., 2 words.
    Reference: Edin et al. 2024, equation 8. Cost: at most `words` forward passes for each target, and 1 for the
    untouched input.
    """
    counts = cumulative_counts(game.n_features, words=words, step=step, published=published, kept=True)
    return relative(np.maximum(0.0, keep_drop(explanation, game, counts)), game.full)
