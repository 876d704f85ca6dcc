"""Weighted least squares on coalitions, solved once for all targets."""

import numpy as np
from scipy.linalg import cho_solve, solve
from scipy.linalg.lapack import dpstrf

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.core.limits import claim

SAMPLES_AT_ONCE = 1024
"""Samples whose rows are laid out in memory together, or features whose columns are."""
LONG = 4096
"""Features above which a square of them is not laid out where it can be avoided."""
FLOAT_BYTES = 8


def ridge(keep: Bools, values: Floats, weights: Floats, *, alpha: float) -> Floats:
    """Return the coefficients `[targets, features]` of a weighted ridge regression with a free intercept.

        min over b, c of  sum_k w_k (v_k - c - b z_k)^2 + alpha |b|^2

    Args:
        keep: Coalitions z, `[samples, features]`.
        values: Scores v, `[samples, targets]`.
        weights: Weights w, `[samples]`.
        alpha: Strength of the penalty.
    """
    share = weights / weights.sum()
    centred = values - share @ values
    samples, n = keep.shape
    if n > max(samples, LONG):
        return _ridge_by_samples(keep, centred, weights, alpha=alpha)
    claim(FLOAT_BYTES * (2 * n * n + 2 * samples * n), f"a regression on {n:,} features and {samples:,} samples")
    design = keep - share @ keep
    weighted = design * weights[:, None]
    gram = weighted.T @ design + alpha * np.eye(design.shape[1])
    return np.asarray(solve(gram, weighted.T @ centred, assume_a="pos")).T


def _ridge_by_samples(keep: Bools, centred: Floats, weights: Floats, *, alpha: float) -> Floats:
    """Solve the ridge regression of a very long text by an equation per sample instead of one per feature.

        b = A' (A A' + alpha)^-1 W^1/2 v,   A = W^1/2 (z - mean z),

    the same coefficients; features enter some at a time, so that none of their squares is ever laid out.
    """
    samples, n = keep.shape
    root, share = np.sqrt(weights), weights / weights.sum()
    claim(FLOAT_BYTES * (samples * samples + n * centred.shape[1]), f"a regression on {samples:,} samples")

    def design(start: int) -> Floats:
        some = keep[:, start : start + SAMPLES_AT_ONCE]
        return np.asarray(root[:, None] * (some - share @ some))

    starts = range(0, n, SAMPLES_AT_ONCE)
    gram = alpha * np.eye(samples)
    for start in starts:
        own = design(start)
        gram += own @ own.T
    dual = solve(gram, root[:, None] * centred, assume_a="pos")
    return np.concatenate([design(start).T @ dual for start in starts]).T


def constrained(keep: Bools, values: Floats, weights: Floats, *, total: Floats) -> Floats:
    """Return the coefficients `[targets, features]` of a weighted regression whose sum is fixed.

        min over b of  sum_k w_k (v_k - b z_k)^2   subject to   sum_i b_i = total

    The last feature is eliminated: b_n = total - sum of the others. The normal equations are summed up over some
    samples at a time, because the design of a long text would not fit into memory.

    Args:
        keep: Coalitions z, `[samples, features]`.
        values: Scores v above those of the empty coalition, `[samples, targets]`.
        weights: Weights w, `[samples]`.
        total: What the coefficients of each target sum to, `[targets]`.
    """
    n = keep.shape[1]
    claim(2 * FLOAT_BYTES * n * n, f"a regression on {n:,} features")
    gram, moments = np.zeros((n - 1, n - 1)), np.zeros((n - 1, len(total)))
    for start in range(0, len(keep), SAMPLES_AT_ONCE):
        some = slice(start, start + SAMPLES_AT_ONCE)
        last = keep[some, -1:].astype(np.float64)
        design = keep[some, :-1] - last
        weighted = design * weights[some, None]
        gram += weighted.T @ design
        moments += weighted.T @ (values[some] - last * total)
    factor, order, rank, _ = dpstrf(gram, overwrite_a=True)
    if rank < len(gram):
        raise SettingError(
            f"{len(keep)} samples do not determine the scores of {n} features; "
            f"set 'samples' to {4 * n} or more, and 'pool', if set, to a larger number."
        )
    others = np.empty_like(moments)
    others[order - 1] = cho_solve((factor, False), moments[order - 1])
    others = others.T
    return np.concatenate([others, (total - others.sum(axis=1))[:, None]], axis=1)
