"""Span recall: the share of gold spans in which at least one feature reaches the boundary.

A gold span is a maximal run of gold features. nan if no feature is gold. Higher is better. In the tables of Edin et al.
2024 the columns "SpanR" and "Cover" are exchanged; this is what their text calls span recall.
Reference: Edin et al. 2024. Cost: none.
"""

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.core.registry import metric
from whylight.metrics._plausibility import Scale, Sign, at_boundary, one_value, parts, ratio, runs


@metric(cite="edin2024", higher_is_better=True)
def span_recall(
    explanation: Explanation,
    rationale: Rationale,
    *,
    boundary: float | None = None,
    scale: Scale = "sum",
    sign: Sign = "positive",
) -> Floats:
    """Measure which share of the gold spans is hit at the boundary (nan without gold features)."""
    chosen, gold = at_boundary(explanation, rationale, boundary=boundary, scale=scale, sign=sign)
    spans = runs(gold, parts(explanation))
    return one_value(ratio(sum(bool(chosen[start:end].any()) for start, end in spans), len(spans)), gold)
