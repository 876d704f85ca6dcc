"""Non-alphanumeric share: how much of the top of an explanation is punctuation and other signs.

    share = |features without a Unicode letter or digit among the top k| / min(k, n)

Edin et al. 2024 find that the more of the top five tokens are such signs, the worse an explanation is. Features are
ranked by signed score, ties in reading order. nan without features. Lower is better.
Reference: Edin et al. 2024, figure 4. Cost: none.
"""

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._curves import check_positive, ranking, rows
from whylight.metrics._signs import non_alphanumeric


@metric(cite="edin2024", higher_is_better=False)
def non_alphanumeric_share(explanation: Explanation, *, k: int = 5) -> Floats:
    """Measure which share of the top features has no letter or digit, one value a target (nan without features)."""
    check_positive("k", k)
    signs = non_alphanumeric(explanation)
    if not len(signs):
        return np.full(len(explanation.targets), np.nan)
    return np.asarray(signs[ranking(rows(explanation))[:, :k]].mean(axis=1))
