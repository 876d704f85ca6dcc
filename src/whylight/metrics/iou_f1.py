"""IoU F1: how far the runs of features at or above the boundary are the gold runs.

    p = share of predicted spans with IoU >= 0.5 with a gold span
    r = share of gold spans with IoU >= 0.5 with a predicted span

A span is a maximal run of consecutive features of one text. 0 if nothing reaches the boundary, nan if no feature is
gold. The published codes (DeYoung et al. 2020, Brinner and Zarriess 2023) count right spans on the predicted side only
and use that number for recall too (`published=True`). For maximal runs the two are the same: if a span shared at least
half of its union with each of two others, the two would hold all of it, and leave no room for the gap between them.
They differ where gold spans touch, which runs of features do not. Higher is better.
Reference: DeYoung et al. 2020. Cost: none.
"""

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.core.registry import metric
from whylight.metrics._plausibility import Scale, Sign, at_boundary, one_value, parts, span_agreement


@metric(cite="deyoung2020", higher_is_better=True)
def iou_f1(
    explanation: Explanation,
    rationale: Rationale,
    *,
    boundary: float | None = None,
    scale: Scale = "sum",
    sign: Sign = "positive",
    published: bool = False,
) -> Floats:
    """Measure how far runs of features at the boundary are the gold runs (nan without gold features)."""
    chosen, gold = at_boundary(explanation, rationale, boundary=boundary, scale=scale, sign=sign)
    return one_value(span_agreement(chosen, gold, parts(explanation), published=published).f1, gold)
