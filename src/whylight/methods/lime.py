"""LIME: a weighted linear model of the score in the neighbourhood of the text.

Coalitions z are drawn by removing r ~ Uniform{1..n} features at random; each weighs

    sqrt(exp(-d^2 / 25^2)),   d = 100 (1 - cos(z, 1)),

and the scores are the coefficients of a ridge regression (alpha 1, intercept) of f(z) on z. One set of coalitions, the
untouched text among them, serves all targets.
`sampler="spans"` is Brinner and Zarriess's: 5 to 13 % of the features are chosen, and each goes with the next three.
With `pool`, coalitions are drawn block by block (see `_pools`), for models that encode long texts in blocks; r is then
uniform on 0..n.
Reference: Ribeiro et al. 2016, and the settings of their package. Cost: `samples` + 1 forward passes; with `pool` at
most 16 `pool` + 2 encodings per block.
The package toggles all occurrences of a word together and regresses on the probability; here each occurrence is a
feature of its own, and the score space is the caller's choice.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from whylight.core.arrays import Bools, Ints
from whylight.core.errors import SettingError
from whylight.core.limits import claim
from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.methods._pools import from_pools, uniform_rates, usable_pool
from whylight.methods._regression import ridge
from whylight.views.game import Game, block_size

KERNEL_WIDTH = 25.0
RANK_BYTES = 8
SPAN = 4
LEAST_SHARE, MOST_SHARE = 0.05, 0.13


@method(
    cite="ribeiro2016",
    signed=True,
    cost="≤ 501 forward",
    good_for="any model, with a number of calls that does not grow with the input",
)
def lime(
    game: Game,
    *,
    samples: int = 500,
    alpha: float = 1.0,
    sampler: Literal["uniform", "spans"] = "uniform",
    pool: int | None = None,
    seed: int = 0,
) -> Scores:
    """Fit a linear model to the scores of inputs with random features removed."""
    if samples < 1:
        raise SettingError(f"the setting 'samples' must be at least 1, not {samples}.")
    if alpha <= 0:
        raise SettingError(f"the setting 'alpha' must be above 0, not {alpha:g}.")
    if sampler == "spans" and game.positions.shape[1] > 1:
        raise SettingError("sampler='spans' is for texts: regions of a picture do not follow each other.")
    if pool is not None and sampler == "spans":
        raise SettingError("the setting 'pool' goes with sampler='uniform' alone: spans may cross blocks.")
    claim(3 * samples * game.n_features, f"{samples:,} samples of {game.n_features:,} features")
    generator = np.random.default_rng(seed)
    pool, notes = usable_pool(game, pool)
    if pool is not None:
        rates = uniform_rates(generator)
        drawn = from_pools(game, rates, pool=pool, count=samples, generator=generator, empty=True)
    else:
        drawn = (_uniform if sampler == "uniform" else _spans)(generator, samples, game.n_features)
    keep = np.concatenate([np.ones((1, game.n_features), dtype=bool), drawn])
    distance = 100.0 * (1.0 - np.sqrt(keep.mean(axis=1)))  # cosine distance of a 0/1 vector to all ones
    weights = np.sqrt(np.exp(-(distance**2) / KERNEL_WIDTH**2))
    return Scores(ridge(keep, game(keep), weights, alpha=alpha), notes=notes)


def _uniform(generator: np.random.Generator, samples: int, n: int) -> Bools:
    """Remove Uniform{1..n} features, each set of that size alike."""
    removed = generator.integers(1, n + 1, size=(samples, 1))
    return np.concatenate([rank >= removed[some] for some, rank in _drawn_orders(generator, samples, n)])


def _spans(generator: np.random.Generator, samples: int, n: int) -> Bools:
    """Remove spans of four features that start at 5 to 13 % of the features."""
    share = generator.uniform(LEAST_SHARE, MOST_SHARE, size=(samples, 1))
    chosen = np.maximum(1, np.round(share * n))
    starts = np.concatenate([rank < chosen[some] for some, rank in _drawn_orders(generator, samples, n)])
    removed = starts.copy()
    for shift in range(1, min(SPAN, n)):
        removed[:, shift:] |= starts[:, :-shift]
    return ~removed


def _drawn_orders(generator: np.random.Generator, samples: int, n: int) -> Iterator[tuple[slice, Ints]]:
    """Draw an order of the features for each sample; some samples at a time, because ranks take eight bytes each."""
    size = max(1, block_size(n) // RANK_BYTES)
    for start in range(0, samples, size):
        some = slice(start, min(start + size, samples))
        yield some, generator.random((some.stop - start, n)).argsort(axis=1).argsort(axis=1)
