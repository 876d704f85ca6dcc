"""What a linear regression on coalitions leaves over: predicted everywhere, and its Shapley values.

With x = 2 z - 1, pairs of complements give the odd part of a game, h(x) = (f(z) - f(1 - z)) / 2. It has the Shapley
values of f, because the even part has none. It is taken as

    h(x) = phi x / 2 + r(x),        covariance of r(x) and r(y) = sinh(t u) - t u,   u = x y / n.

The series of sinh has products of 3, 5, ... features, longer ones with less weight: with t near 0 there are products of
three alone, with t far above n nothing is expected of r where it is not known. The prediction that is right on average
and has the least variance (generalised least squares for phi, kriging for r) is, with K and X at the known points,

    a = Q h,     Q = K^-1 - K^-1 X (X' K^-1 X)^-1 X' K^-1,     r(x) = sum over points p of a_p k(x, p),

so that the Shapley values of r are those of k. They follow from Owen's integral, in which exp(t u) is a product:

    phi_i of exp(t u) = 2 y_i sinh(b) integral over q of  product over j != i of  q e^(b y_j) + (1 - q) e^(-b y_j)

with b = t / n and q from 0 to 1: a polynomial in q, for which Gauss-Legendre nodes are exact. Leaving out point p
misses it by a_p / Q_pp; values of t are weighted by how small these errors are, as likelihoods of normal errors would.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from whylight.core.arrays import Floats, Ints

STEP = 4
"""Values of t are 1, 4, 16, ..., up to the first that is above 4 n."""
ROUNDING = 1e-10
"""What is added to the variance of each point, as a share of it, so that K stays solvable."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """An odd function, known by some of its values.

    Attributes:
        shapley: Its Shapley values, `[targets, features]`.
        predict: Gives its values `[points, targets]` at points `[points, features]`.
    """

    shapley: Floats
    predict: Callable[[Floats], Floats]


def shapley_of_remainder(signs: Floats, values: Floats, weights: Floats) -> Found:
    """Find the odd function that best explains some of its values.

    Args:
        signs: Points x, `[points, features]`, each 1 or -1; they determine a linear function.
        values: Values h, `[points, targets]`.
        weights: How much it matters that a point is predicted well, `[points]`.
    """
    n = signs.shape[1]
    agreeing = _agreeing(signs, signs)
    scales = _scales(n)
    slopes, amounts, errors = zip(*(_one_target(signs, values, weights, agreeing, t) for t in scales), strict=True)
    least = np.finfo(np.float64).tiny
    error = np.stack(errors) + least  # [scales, targets]
    share = (error.min(axis=0) / error) ** (np.count_nonzero(weights) / 2)
    share /= share.sum(axis=0)
    slope = np.einsum("st,snt->nt", share, np.stack(slopes))
    parts = [(t, own * amount) for t, own, amount in zip(scales, share, amounts, strict=True) if own.any()]
    shapley = 2 * slope + sum(_shapley_of_covariance(signs, t).T @ amount for t, amount in parts)

    def predict(points: Floats) -> Floats:
        shared = _agreeing(points, signs)
        return np.asarray(points @ slope + sum(_covariance(shared, n, t) @ amount for t, amount in parts))

    return Found(np.asarray(shapley.T), predict)


def _scales(n: int) -> list[float]:
    count = int(np.ceil(np.log(STEP * n) / np.log(STEP)))
    return [float(STEP**power) for power in range(count + 1)]


def _agreeing(points: Floats, signs: Floats) -> Ints:
    """Count the features in which points agree, `[points, points]`: all that a covariance depends on."""
    inner = points @ signs.T
    inner += signs.shape[1]
    inner /= 2
    return inner.astype(np.int64)  # exact: these are small whole numbers


def _covariance(agreeing: Ints, n: int, t: float) -> Floats:
    """Return the covariance of points of n features; over e^t, which may be more than a float holds."""
    u = 2 * np.arange(n + 1) / n - 1
    table = (np.exp(t * (u - 1)) - np.exp(-t * (u + 1))) / 2 - t * np.exp(-t) * u
    return np.asarray(table[agreeing])


def _one_target(
    signs: Floats, values: Floats, weights: Floats, agreeing: Ints, t: float
) -> tuple[Floats, Floats, Floats]:
    """Return slopes `[features, targets]` and a `[points, targets]` under one t, and the error of left-out points."""
    covariance = _covariance(agreeing, signs.shape[1], t)
    covariance[np.diag_indices_from(covariance)] *= 1 + ROUNDING
    inverse = cho_solve(cho_factor(covariance, lower=True), np.eye(len(signs)))
    weighted = inverse @ signs
    linear = np.linalg.solve(signs.T @ weighted, weighted.T)  # [features, points]: values -> slopes
    projected = inverse - weighted @ linear
    amounts = projected @ values
    kept = np.diag(projected) > ROUNDING * np.diag(inverse)  # a point that alone determines something misses nothing
    left_out = np.divide(amounts, np.diag(projected)[:, None], out=np.zeros_like(amounts), where=kept[:, None])
    return linear @ values, amounts, weights @ left_out**2


@lru_cache(maxsize=4)
def _nodes(count: int) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights; kept, because they take longer than what they are used for."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return np.asarray(nodes), np.asarray(weights)


def _shapley_of_covariance(signs: Floats, t: float) -> Floats:
    """Return the Shapley values of the covariance with each point, `[points, features]`, divided by e^t."""
    n = signs.shape[1]
    b = t / n
    nodes, node_weights = _nodes(n // 2 + 1)
    q = (nodes + 1) / 2
    same, other = (np.log(q * np.exp(b * sign) + (1 - q) * np.exp(-b * sign)) for sign in (1, -1))

    def integral(plus: Ints) -> Floats:
        """Of so many factors with y = 1 and the rest with y = -1, n - 1 together."""
        powers = plus[:, None] * same + (n - 1 - plus)[:, None] * other
        return np.asarray(np.exp(powers - t) @ node_weights / 2)

    plus = (signs > 0).sum(axis=1)
    by_sign = {sign: integral(plus - (sign > 0)) for sign in (1, -1)}
    product = np.where(signs > 0, by_sign[1][:, None], by_sign[-1][:, None])
    return np.asarray(2 * signs * (np.sinh(b) * product - b * np.exp(-t)))
