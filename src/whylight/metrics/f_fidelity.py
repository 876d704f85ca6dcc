"""Faithfulness within what a model knows: only a small random part of the important words is removed at a time.

    f_fidelity(k) = mean over draws of  f(x) - f(x without D),     D: min(alpha k, beta n) random features of the top k

and `f_fidelity_minus` the same with the n - k features that are not among the top k. However large an explanation is,
at most a share `beta` of the text goes. A model that was fine-tuned on texts with as much of them masked at random
knows such texts: these metrics are made to be measured on that copy of the explained model.

    whylight train --model M --objective random_masking --set beta=0.1 ... --out copy
    whylight evaluate --model M --metric-model copy --metric f_fidelity_plus ...

On the explained model itself they say less: its answers to texts with gaps may be anything. Values are averaged over
explanations of 1, 5, 10, 20 and 50 % of the features (`steps` shares at equal distance instead, as in
`aopc_sufficiency`), each number of features once. At least one feature goes. Of every size `draws` sets are drawn, or
all taken where there are no more; they depend on `seed`, n and k alone.
The published code, of images, lets each feature of the side go by itself with the probability min(alpha, beta n / k),
counts right answers instead of probabilities, takes sizes of 5 to 100 %, and for minus the k lowest features.
"""

from collections.abc import Callable

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.explanation import Explanation
from whylight.core.limits import claim
from whylight.core.registry import metric
from whylight.metrics._curves import EXACT, check_positive, check_share, ranked_features, rows_for, share_counts
from whylight.metrics.subsets import subsets_of
from whylight.views.game import Game

ALPHA, BETA = 0.5, 0.1
Bound = Callable[[int, int], int]
"""Features of a side, and of the text -> those that go."""


@metric(cite="zheng2025", higher_is_better=True)
def f_fidelity_plus(  # noqa: PLR0913  one keyword per setting
    explanation: Explanation,
    game: Game,
    *,
    alpha: float = ALPHA,
    beta: float = BETA,
    steps: int | None = None,
    draws: int = 20,
    seed: int = 0,
) -> Floats:
    """Average how far the score falls without a random part of the top features, one value per target.

    Made to be measured on a copy of the model that was fine-tuned by `random_masking`. Higher is better. nan without
    features.
    Reference: Zheng et al. 2025. Cost: at most `draws` forward passes for each share and target.
    """
    return _mean_drop(explanation, game, most=_bound(alpha, beta), steps=steps, draws=draws, seed=seed, of_top=True)


@metric(cite="zheng2025", higher_is_better=False)
def f_fidelity_minus(  # noqa: PLR0913  one keyword per setting
    explanation: Explanation,
    game: Game,
    *,
    alpha: float = ALPHA,
    beta: float = BETA,
    steps: int | None = None,
    draws: int = 20,
    seed: int = 0,
) -> Floats:
    """Average how far the score falls without a random part of the other features, one value per target.

    Made to be measured on a copy of the model that was fine-tuned by `random_masking`. Lower is better. nan where the
    top features are all there are.
    Reference: Zheng et al. 2025. Cost: at most `draws` forward passes for each share and target.
    """
    return _mean_drop(explanation, game, most=_bound(alpha, beta), steps=steps, draws=draws, seed=seed, of_top=False)


def _bound(alpha: float, beta: float) -> Bound:
    """Return how many features of a side may go: a share `alpha` of it, and `beta` of all; one at least."""
    check_share("alpha", alpha)
    check_share("beta", beta)
    return lambda side, n: max(1, int(round(min(alpha * side, beta * n), EXACT)))


def _mean_drop(  # noqa: PLR0913  the settings of both metrics
    explanation: Explanation, game: Game, *, most: Bound, steps: int | None, draws: int, seed: int, of_top: bool
) -> Floats:
    """Return the mean over sizes of the mean drop without random parts of one side of the ranking, `[targets]`."""
    check_positive("draws", draws)
    order, n = ranked_features(rows_for(explanation, game)), game.n_features  # [targets, features]
    sizes = dict.fromkeys(share_counts(steps, n, rounding="round")) if n else {}
    sides = [np.arange(size) if of_top else np.arange(size, n) for size in sizes]
    claim(4 * len(sides) * draws * n * game.n_targets, f"drawing parts of {n:,} features")
    parts = [_random_parts(side, n, most(len(side), n), draws, seed) for side in sides if len(side)]
    if not parts:
        return np.full(game.n_targets, np.nan)
    gone = np.concatenate(parts)  # [coalitions, places in a ranking]
    weights = np.concatenate([np.full(len(own), 1 / (len(own) * len(parts))) for own in parts])
    removed = np.concatenate([gone[:, np.argsort(own)] for own in order])
    distinct, which = np.unique(removed, axis=0, return_inverse=True)
    left = game.in_blocks(len(distinct), lambda numbers: ~distinct[numbers])[which].reshape(len(order), -1, len(order))
    return np.asarray([game.full[target] - weights @ left[target, :, target] for target in range(len(order))])


def _random_parts(side: Ints, n: int, most: int, draws: int, seed: int) -> Bools:
    """Draw sets of `most` places of one side of a ranking, `[draws, places]`; all, where there are no more."""
    generator = np.random.default_rng([seed, n, len(side)])
    drawn = subsets_of(len(side), most, draws, generator)
    gone = np.zeros((len(drawn), n), dtype=bool)
    gone[:, side] = drawn
    return gone
