"""Entropy: how evenly an explanation spreads over the features.

    h = - sum over i of p_i log2 p_i / log2 n,   p = non-negative scores divided by their sum

0 if one feature has everything, 1 if all have the same. nan for fewer than two features, or if no score is above 0.
Lower means more focused, which is not in itself more faithful.
Reference: Edin et al. 2024, appendix E.4. Cost: none.
"""

import numpy as np
from scipy.special import xlogy

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._curves import rows
from whylight.metrics._plausibility import Sign, non_negative, scaled


@metric(cite="edin2024", higher_is_better=False)
def entropy(explanation: Explanation, *, sign: Sign = "positive") -> Floats:
    """Measure how evenly scores spread over features, one value a target (nan if there is nothing to spread)."""
    shares = scaled(non_negative(rows(explanation), sign), "sum")
    n = shares.shape[1]
    if n < 2:  # noqa: PLR2004  one feature cannot spread
        return np.full(len(shares), np.nan)
    bits = -xlogy(shares, shares).sum(axis=1) / np.log(n)
    return np.where(shares.any(axis=1), np.clip(bits, 0.0, 1.0), np.nan)
