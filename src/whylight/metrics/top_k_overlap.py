"""Top-k overlap: how many of the most important features two explanations have in common.

    overlap = |top k of one and top k of the other| / min(k, n)

Features are ranked by score, ties in reading order. nan without features. Higher is more alike.
Reference: Krishna et al. 2022 ("feature agreement"). Cost: none.
"""

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._agreement import Comparison, paired
from whylight.metrics._curves import check_positive, top


@metric(cite="krishna2022", higher_is_better=True)
def top_k_overlap(explanation: Explanation, other: Explanation, *, k: int = 5, sign: Comparison = "signed") -> Floats:
    """Measure which share of the top features two explanations share, one value a target (nan without features)."""
    check_positive("k", k)
    first, second = paired(explanation, other, sign=sign)
    size = min(k, first.shape[1])
    if not size:
        return np.full(len(first), np.nan)
    return np.asarray((top(first, [k]) & top(second, [k])).sum(axis=(1, 2)) / size)
