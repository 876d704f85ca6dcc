"""Precision at k: the share of the k highest features that is gold.

    p@k = |top k and E| / k

Ties are ranked in reading order. `k="rationale"` takes as many features as are gold. A text with fewer than k features
cannot reach 1, so that the mean over pairs is the published total hits / (pairs * k). nan if no feature is gold.
Higher is better.
Reference: Edin et al. 2024. Cost: none.
"""

from typing import Literal

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.core.registry import metric
from whylight.metrics._plausibility import Sign, best, one_value, pair, ratio


@metric(cite="edin2024", higher_is_better=True)
def precision_at_k(
    explanation: Explanation, rationale: Rationale, *, k: int | Literal["rationale"] = 5, sign: Sign = "positive"
) -> Floats:
    """Measure which share of the k highest features is gold (nan without gold features)."""
    scores, gold = pair(explanation, rationale, sign=sign)
    hits = (best(scores, k, gold) & gold).sum()
    return one_value(ratio(hits, gold.sum() if k == "rationale" else k), gold)
