"""KernelSHAP: Shapley values as a weighted regression on coalitions, and what that leaves over.

The Shapley values solve

    min over phi of  sum over coalitions z of  w(|z|) (f(z) - f(0) - phi z)^2    subject to  sum phi = f(1) - f(0),
    w(s) = (n - 1) / (C(n, s) s (n - s)).

Coalitions come in pairs (z and its complement) and never twice. Sizes are taken whole from the outside, as long as a
fifth of the budget is left; the rest is spread over the other sizes in proportion to their share of the kernel. A size
whose share covers all its coalitions is taken whole too. Whole sizes have their exact weight, each other draw stands
for the same share of the kernel. With every coalition in the budget, the values are exact.
With some coalitions, the regression takes what products of features do for noise. So what it leaves over is predicted
for the other coalitions (see `_remainder`), and the Shapley values of that are added. They are 0 where the game is
additive; where it is smooth, the error falls to a fraction. Of more than 2,000 different pairs, 2,000 predict the
others, and a second regression takes what that misses; no size is then preferred for being an outer one. Beyond 1,000
features so many pairs do not determine what is linear: the first regression stands alone, with a note.
With `pool`, pairs are drawn from the kernel block by block (see `_pools`), for models that encode long texts in blocks:
a pair may then occur twice, no size is taken whole, and the values stay exact only where the game is additive.
Reference: Lundberg and Lee 2017; pairing: Covert and Lee 2021; a model of the game that corrects the estimate: Witter,
Liu and Musco 2025; products of features beside the linear ones: Fumagalli, Witter and Musco 2026. Cost: `samples` + 2
forward passes; by default 500 samples, or 4 per feature where that is more. With `pool`, at most 32 `pool` encodings
per block.
"""

import numpy as np

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.core.limits import claim
from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.methods._coalitions import count_pairs, every_pair, some_pairs, with_complements
from whylight.methods._pools import from_pools, kernel_rates, usable_pool
from whylight.methods._regression import constrained
from whylight.methods._remainder import shapley_of_remainder
from whylight.views.game import Game

SAMPLES = 500
SAMPLES_A_FEATURE = 4
"""A pair of coalitions is one equation: at half this number the values would only just be determined."""
OUTER_SHARE = 0.8
"""An outer size is taken whole if it needs no more of what is left of the budget."""
PAIRS_AT_MOST = 2000
"""What the regression leaves over is predicted from so many pairs: time grows with their cube."""
PAIRS_A_FEATURE = 2
"""Some of all pairs predict the others if they are at least so many."""


@method(
    cite="lundberg2017",
    signed=True,
    cost="≤ 502 forward, or 4 n + 2 where that is more",
    good_for="any model; features that act together, shared out fairly",
    aliases=("shap",),
    complete=True,
)
def kernel_shap(game: Game, *, samples: int | None = None, pool: int | None = None, seed: int = 0) -> Scores:
    """Estimate Shapley values by regression on the scores of pairs without some features, none twice."""
    notes: tuple[str, ...] = ()
    if samples is None:
        samples = max(SAMPLES, SAMPLES_A_FEATURE * game.n_features)
        if samples > SAMPLES:
            notes = (f"{game.n_features} features need more than {SAMPLES} samples; {samples} were taken",)
    if samples < 1:
        raise SettingError(f"the setting 'samples' must be at least 1, not {samples}.")
    claim(3 * samples * game.n_features, f"{samples:,} samples of {game.n_features:,} features")
    total = game.full - game.empty
    if game.n_features == 1:
        return game.complete(total[:, None], notes=notes)
    generator = np.random.default_rng(seed)
    pool, said = usable_pool(game, pool)
    if pool is not None:
        keep, weights = shared_coalitions(game, samples, pool, generator)
    else:
        keep, weights = coalitions(game.n_features, samples, generator)
    values = game(keep) - game.empty
    scores = constrained(keep, values, weights, total=total)
    more = left_over(keep, values - keep @ scores.T, weights, generator)
    if more is None:
        said = (*said, f"{game.n_features:,} features are too many to correct the regression for products of features")
    return game.complete(scores if more is None else scores + more, notes=(*notes, *said))


def left_over(keep: Bools, values: Floats, weights: Floats, generator: np.random.Generator) -> Floats | None:
    """Return the Shapley values `[targets, features]` of what a regression leaves over; they sum to 0.

    None stands for too many features to tell.

    Args:
        keep: Coalitions, each followed by its complement, `[coalitions, features]`.
        values: What is left of their scores, `[coalitions, targets]`; nothing is of the empty one and of all features.
        weights: The weight of each, `[coalitions]`.
        generator: Chooses pairs where there are too many.
    """
    n = keep.shape[1]
    signs = np.concatenate([np.ones((1, n)), 2.0 * keep[0::2] - 1])  # all features at once come first
    odd = np.concatenate([np.zeros((1, values.shape[1])), (values[0::2] - values[1::2]) / 2])
    side = signs[:, :1].copy()  # one name for a pair
    points, first, which = np.unique(signs * side, axis=0, return_index=True, return_inverse=True)
    if len(points) == 2 ** (n - 1):  # all there are: the regression is exact
        return np.zeros((values.shape[1], n))
    if len(points) > PAIRS_AT_MOST < PAIRS_A_FEATURE * n:
        return None
    importance = np.bincount(which, weights=np.append(0.0, weights[0::2])).astype(np.float64)
    importance[first == 0] = 0
    odd = (odd * side)[first]
    order = generator.permutation(len(points))
    order = order[np.argsort(first[order] != 0, kind="stable")]  # that of all features is known, whichever others are
    known, others = np.split(order, [PAIRS_AT_MOST])
    found, missed = shapley_of_remainder(points[known], odd[known], importance[known]), np.zeros_like(odd)
    scores: Floats = found.shapley - found.shapley.mean(axis=1, keepdims=True)  # rounding
    if not len(others):
        return scores
    for some in np.array_split(others, -(-len(others) // PAIRS_AT_MOST)):
        missed[some] = odd[some] - found.predict(points[some])
    ahead = (missed[which] * side)[1:]
    pairs = np.stack([ahead, -ahead], axis=1).reshape(values.shape)
    return scores + constrained(keep, pairs, weights, total=np.zeros(values.shape[1]))


def shared_coalitions(game: Game, samples: int, pool: int, generator: np.random.Generator) -> tuple[Bools, Floats]:
    """Draw pairs of coalitions from the kernel, put together from pools; each draw weighs the same."""
    rates = kernel_rates(game.n_features, generator)
    sides = from_pools(game, rates, pool=pool, count=max(1, samples // 2), generator=generator, empty=False)
    return with_complements(sides), np.ones(2 * len(sides))


def coalitions(n: int, samples: int, generator: np.random.Generator) -> tuple[Bools, Floats]:
    """Choose at most `samples` coalitions of n features (but one pair at least), and the weight of each."""
    shares = {size: _kernel_weight(n, size) for size in range(1, n // 2 + 1)}
    pairs = max(1, samples // 2)
    outer, left = _outermost(n, pairs) if pairs <= PAIRS_AT_MOST else ([], pairs)
    covered, left = _covered(n, {size: share for size, share in shares.items() if size not in outer}, left)
    whole = outer + covered
    sides = [every_pair(n, size) for size in whole]
    weights = [np.full(len(side), shares[size] / len(side)) for size, side in zip(whole, sides, strict=True)]
    partly = [size for size in shares if size not in whole]
    if partly and left:
        rest = np.asarray([shares[size] for size in partly])
        counts = _apportion(left * rest / rest.sum(), generator)
        drawn = [some_pairs(n, s, c, generator) for s, c in zip(partly, counts, strict=True) if c]
        sides += drawn
        weights += [np.full(len(side), rest.sum() / left) for side in drawn]
    return with_complements(np.concatenate(sides)), np.concatenate(weights).repeat(2)


def _kernel_weight(n: int, size: int) -> float:
    """Return the kernel weight of all pairs of a size together; in the middle there are half as many as coalitions."""
    return (n - 1) / (size * (n - size)) / (2 if 2 * size == n else 1)


def _outermost(n: int, pairs: int) -> tuple[list[int], int]:
    """Return the outermost sizes that are taken whole, and the budget that is left."""
    whole: list[int] = []
    for size in range(1, n // 2 + 1):
        count = count_pairs(n, size)
        if count > OUTER_SHARE * pairs:
            break
        whole.append(size)
        pairs -= count
    return whole, pairs


def _covered(n: int, shares: dict[int, float], pairs: int) -> tuple[list[int], int]:
    """Return the sizes whose share of the budget covers all their pairs, and the budget that is left."""
    whole: list[int] = []
    few = [
        size for size in shares if size <= (2 * pairs).bit_length()
    ]  # there are at least 2^(size - 1) pairs of a size
    counts = {size: count for size in few if (count := count_pairs(n, size)) <= pairs}
    while True:
        rest = sum(share for size, share in shares.items() if size not in whole)
        fit = [s for s, count in counts.items() if s not in whole and pairs * shares[s] >= rest * count]
        if not fit:
            return whole, pairs
        whole += fit
        pairs -= sum(counts[size] for size in fit)


def _apportion(quotas: Floats, generator: np.random.Generator) -> list[int]:
    """Round quotas to whole numbers with the same sum, each right on average: one random offset, then equal steps."""
    edges = np.concatenate([[0.0], np.cumsum(quotas)])
    edges[-1] = round(edges[-1])
    return [int(c) for c in np.diff(np.floor(edges + generator.random()))]
