"""Choosing coalitions in pairs: every one of a size, or some of them without repetition."""

from itertools import combinations
from math import comb

import numpy as np

from whylight.core.arrays import Bools

ENUMERATE = 4
"""A draw that takes at least a quarter of all pairs of a size is made from the list of them all."""


def count_pairs(n: int, size: int) -> int:
    """Return how many pairs {coalition, complement} there are whose smaller side has this size."""
    return comb(n, size) // (2 if 2 * size == n else 1)


def every_pair(n: int, size: int) -> Bools:
    """Return one side of every pair of a size, `[pairs, n]`."""
    members = np.asarray(list(combinations(range(n), size)))
    if 2 * size == n:
        members = members[members[:, 0] == 0]  # the complement of each is among the others
    sides = np.zeros((len(members), n), dtype=bool)
    np.put_along_axis(sides, members, values=True, axis=1)
    return sides


def some_pairs(n: int, size: int, count: int, generator: np.random.Generator) -> Bools:
    """Return one side of `count` different pairs of a size, each as likely as any other, `[count, n]`."""
    if ENUMERATE * count >= count_pairs(n, size):
        sides = every_pair(n, size)
        return sides[generator.permutation(len(sides))[:count]]
    found: dict[bytes, Bools] = {}
    while len(found) < count:
        for _ in range(count - len(found)):
            row = generator.random(n).argsort().argsort() < size
            side = ~row if 2 * size == n and not row[0] else row  # one name for a pair of equal sides
            found.setdefault(np.packbits(side).tobytes(), side)
    return np.stack(list(found.values()))


def with_complements(sides: Bools) -> Bools:
    """Return each side followed by its complement, `[2 pairs, n]`."""
    return np.stack([sides, ~sides], axis=1).reshape(-1, sides.shape[1])
