"""Coalitions that share what a model has to encode: each block of features comes from a small pool of variants.

A model that encodes a document in blocks (chunks, windows) encodes each variant of a block once. A coalition drawn at
random has a new variant of nearly every block; one put together from pools has none. Drawn are

    one of R rates p  ->  for each block, one of `pool` variants of that rate: every feature is in with chance p

so that, looked at alone, a coalition is one whose features are in independently of each other with chance p. Sizes are
binomial given the rate, and have the distribution that the rates are drawn for:

    p ~ 1 / (p (1 - p)), none and all left out   <->   size s with chance in proportion to 1 / (s (n - s))  (KernelSHAP)
    p ~ Uniform(0, 1)                            <->   size uniform on 0 .. n  (LIME)

Coalitions that share a rate or a variant depend on each other: the error falls with the number of variants, and not
with the number of coalitions alone. A variant that leaves a block untouched costs nothing and is not taken from the
pool. A feature that several blocks hold goes with the first of them.
Cost: 2 R `pool` encodings per block (with complements), whatever the number of coalitions.
"""

from collections.abc import Sequence

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.errors import SettingError
from whylight.views.game import Game

RATES = 16
"""Rates that the coalitions of one explanation share."""
_LEAST_RATE = 1e-12


def usable_pool(game: Game, pool: int | None) -> tuple[int | None, tuple[str, ...]]:
    """Return the size of pools that coalitions are to be drawn from, if any, and what the receipt says about it."""
    if pool is None:
        return None, ()
    if pool < 1:
        raise SettingError(f"the setting 'pool' must be at least 1, not {pool}.")
    if len(game.blocks) == 1:
        return None, (
            "the model encodes this text in one block, so that there is nothing to share; 'pool' was left out",
        )
    said = (
        f"inputs without some features share {pool} variants of each of {len(game.blocks)} blocks at each of {RATES} "
        "rates, so that they are not independent of each other"
    )
    return pool, (said,)


def kernel_rates(n: int, generator: np.random.Generator) -> Floats:
    """Draw rates up to 1/2 whose coalitions, with their complements, have the sizes of the Shapley kernel."""
    sizes = np.arange(1, n)
    mass = np.cumsum(1.0 / (sizes * (n - sizes)))
    drawn = sizes[np.searchsorted(mass / mass[-1], _stratified(generator))]
    rates = generator.beta(drawn, n - drawn)
    return np.asarray(np.minimum(rates, 1 - rates))


def uniform_rates(generator: np.random.Generator) -> Floats:
    """Draw rates whose coalitions have every size alike."""
    return _stratified(generator)


def from_pools(
    game: Game, rates: Floats, *, pool: int, count: int, generator: np.random.Generator, empty: bool
) -> Bools:
    """Draw coalitions block by block.

    Args:
        game: The game, for its blocks.
        rates: Chances that a feature is in.
        pool: Variants of a block for each rate.
        count: Coalitions to draw.
        generator: Where random numbers come from.
        empty: Whether a coalition may be empty, or all there is.

    Returns:
        Keep masks `[count, features]`.
    """
    blocks = owned(game.blocks, game.n_features)
    rare = np.clip(np.minimum(rates, 1 - rates), _LEAST_RATE, None)  # the side of a coalition that is spelt out
    which = np.arange(count) % len(rates)
    touched = _touched(np.asarray([len(block) for block in blocks]), rare[which], generator, empty=empty)
    inside = np.zeros((count, game.n_features), dtype=bool)
    for number, block in enumerate(blocks):
        variants = _variants(len(block), rare, pool, generator)
        chosen = variants[which, generator.integers(pool, size=count)]
        inside[:, block] = chosen & touched[:, number, None]
    return inside ^ (rates > 0.5)[which, None]  # noqa: PLR2004  the middle


def owned(blocks: Sequence[Ints], n: int) -> list[Ints]:
    """Return blocks that do not overlap: a feature stays in the first that holds it; those in none are one more."""
    owner = np.full(n, len(blocks))
    for number in reversed(range(len(blocks))):
        owner[blocks[number]] = number
    return [np.flatnonzero(owner == number) for number in np.unique(owner)]


def _stratified(generator: np.random.Generator) -> Floats:
    """Draw numbers in [0, 1), one in each of as many equal parts, in random order."""
    return generator.permutation((np.arange(RATES) + generator.random(RATES)) / RATES)


def _touched(sizes: Ints, rates: Floats, generator: np.random.Generator, *, empty: bool) -> Bools:
    """Draw which blocks have a feature in, `[coalitions, blocks]`; if not `empty`, one has at least."""
    touched = generator.random((len(rates), len(sizes))) < _chance_of_any(rates[:, None], sizes)
    if empty:
        return np.asarray(touched)
    first = _first_included(sizes.sum(), rates, generator)  # of all features in a row, the first that is in
    first_block = np.searchsorted(np.cumsum(sizes), first, side="right")[:, None]
    number = np.arange(len(sizes))
    return np.asarray((touched & (number > first_block)) | (number == first_block))


def _variants(size: int, rates: Floats, pool: int, generator: np.random.Generator) -> Bools:
    """Draw pools of variants that are not empty, `[rates, pool, features]`."""
    drawn = generator.random((len(rates), pool, size)) < rates[:, None, None]
    first = _first_included(size, np.broadcast_to(rates[:, None], (len(rates), pool)), generator)[..., None]
    number = np.arange(size)
    return np.asarray((drawn & (number > first)) | (number == first))


def _chance_of_any(rates: Floats, size: int | Ints) -> Floats:
    """Return the chance that one of `size` features is in."""
    return np.asarray(-np.expm1(size * np.log1p(-rates)))


def _first_included(size: int | Ints, rates: Floats, generator: np.random.Generator) -> Ints:
    """Draw the number of the first feature that is in, given that one of `size` is."""
    share = generator.random(rates.shape) * _chance_of_any(rates, size)
    return np.asarray(np.minimum(np.log1p(-share) // np.log1p(-rates), size - 1), dtype=np.int64)
