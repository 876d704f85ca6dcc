"""Empty rate: whether no feature at all reaches the boundary, so that a reviewer is shown nothing.

1 or 0 for one pair; its mean over pairs is the rate. nan if no feature is gold, because the rate is over pairs with a
rationale. Lower is better.
Reference: Edin et al. 2024. Cost: none.
"""

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.core.registry import metric
from whylight.metrics._plausibility import Scale, Sign, at_boundary, one_value


@metric(cite="edin2024", higher_is_better=False)
def empty_rate(
    explanation: Explanation,
    rationale: Rationale,
    *,
    boundary: float | None = None,
    scale: Scale = "sum",
    sign: Sign = "positive",
) -> Floats:
    """Say whether nothing reaches the boundary, 1 or 0 (nan without gold features)."""
    chosen, gold = at_boundary(explanation, rationale, boundary=boundary, scale=scale, sign=sign)
    return one_value(float(not chosen.any()), gold)
