"""Weighted least squares on coalitions, solved once for all targets."""

import numpy as np
from scipy.linalg import solve

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError


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
    design = keep - share @ keep
    centred = values - share @ values
    weighted = design * weights[:, None]
    gram = weighted.T @ design + alpha * np.eye(design.shape[1])
    return np.asarray(solve(gram, weighted.T @ centred, assume_a="pos")).T


def constrained(keep: Bools, values: Floats, weights: Floats, *, total: Floats) -> Floats:
    """Return the coefficients `[targets, features]` of a weighted regression whose sum is fixed.

        min over b of  sum_k w_k (v_k - b z_k)^2   subject to   sum_i b_i = total

    The last feature is eliminated: b_n = total - sum of the others.

    Args:
        keep: Coalitions z, `[samples, features]`.
        values: Scores v above those of the empty coalition, `[samples, targets]`.
        weights: Weights w, `[samples]`.
        total: What the coefficients of each target sum to, `[targets]`.
    """
    last = keep[:, -1:].astype(np.float64)
    design = (keep[:, :-1] - last) * np.sqrt(weights)[:, None]
    centred = (values - last * total) * np.sqrt(weights)[:, None]
    others, _, rank, _ = np.linalg.lstsq(design, centred, rcond=None)
    if rank < design.shape[1]:
        raise SettingError(
            f"{len(keep)} samples do not determine the scores of {keep.shape[1]} features; "
            f"set 'samples' to {4 * keep.shape[1]} or more."
        )
    others = others.T
    return np.concatenate([others, (total - others.sum(axis=1))[:, None]], axis=1)
