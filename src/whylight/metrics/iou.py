"""Intersection over union of the features that the explanation names and the gold features.

    iou = |A and E| / |A or E|

A are as many of the highest features as are gold (`at="rationale"`, Edin et al. 2024), or those at the boundary
(`at="threshold"`, Pham et al. 2022, who scale by the maximum). nan if no feature is gold; Pham et al. count 1 if both
are empty. Higher is better.
Reference: DeYoung et al. 2020; Edin et al. 2024. Cost: none.
"""

from typing import Literal

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.core.registry import metric
from whylight.metrics._plausibility import Scale, Sign, at_boundary, best, one_value, pair, ratio


@metric(cite="edin2024", higher_is_better=True)
def iou(
    explanation: Explanation,
    rationale: Rationale,
    *,
    at: Literal["rationale", "threshold"] = "rationale",
    boundary: float | None = None,
    scale: Scale = "sum",
    sign: Sign = "positive",
) -> Floats:
    """Measure the overlap of named and gold features (nan without gold features)."""
    if at == "rationale":
        scores, gold = pair(explanation, rationale, sign=sign)
        chosen = best(scores, "rationale", gold)
    else:
        chosen, gold = at_boundary(explanation, rationale, boundary=boundary, scale=scale, sign=sign)
    return one_value(ratio((chosen & gold).sum(), (chosen | gold).sum()), gold)
