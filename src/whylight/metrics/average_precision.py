"""Average precision: how early the gold features come when features are ranked by score.

    ap = sum over thresholds of (recall - previous recall) * precision

Tied features come in together, so that their order does not matter. nan if no feature is gold. Higher is better;
scores without any information reach the share of gold features.
Reference: Atanasova et al. 2020; DeYoung et al. 2020. Cost: none.
"""

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.core.registry import metric
from whylight.metrics._plausibility import Sign, one_value, pair
from whylight.metrics._thresholds import average_precision_of


@metric(cite="atanasova2020", higher_is_better=True)
def average_precision(explanation: Explanation, rationale: Rationale, *, sign: Sign = "positive") -> Floats:
    """Measure how early gold features come in the ranking (nan without gold features)."""
    scores, gold = pair(explanation, rationale, sign=sign)
    return one_value(average_precision_of(scores, gold), gold)
