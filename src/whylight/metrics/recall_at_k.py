"""Recall at k: the share of the gold features that is among the k highest.

    r@k = |top k and E| / |E|

Ties are ranked in reading order. `k="rationale"` takes as many features as are gold, as Ferreira et al. do; recall and
precision are then the same. Edin et al. 2024 divide all hits by all gold features of a corpus; the mean over pairs
weighs every pair alike. nan if no feature is gold. Higher is better.
Reference: Edin et al. 2024. Cost: none.
"""

from typing import Literal

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.core.registry import metric
from whylight.metrics._plausibility import Sign, best, one_value, pair, ratio


@metric(cite="edin2024", higher_is_better=True)
def recall_at_k(
    explanation: Explanation, rationale: Rationale, *, k: int | Literal["rationale"] = 5, sign: Sign = "positive"
) -> Floats:
    """Measure which share of the gold features is among the k highest (nan without gold features)."""
    scores, gold = pair(explanation, rationale, sign=sign)
    hits = (best(scores, k, gold) & gold).sum()
    return one_value(ratio(hits, gold.sum()), gold)
