"""Span cover: of the gold spans that are hit at all, the share of features that reaches the boundary.

    cover = sum over hit gold spans of |A and span| / sum over hit gold spans of |span|

A gold span is a maximal run of gold features. nan if no feature is gold or no span is hit, so that the mean is over
pairs with a hit, as Edin et al. 2024 write; their code counts pairs without a hit as 0 (`published=True`), and their
tables exchange the columns "SpanR" and "Cover". Higher is better.
Reference: Edin et al. 2024. Cost: none.
"""

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.core.registry import metric
from whylight.metrics._plausibility import Scale, Sign, at_boundary, one_value, parts, runs


@metric(cite="edin2024", higher_is_better=True)
def span_cover(
    explanation: Explanation,
    rationale: Rationale,
    *,
    boundary: float | None = None,
    scale: Scale = "sum",
    sign: Sign = "positive",
    published: bool = False,
) -> Floats:
    """Measure which share of the hit gold spans reaches the boundary (nan without gold features or hits)."""
    chosen, gold = at_boundary(explanation, rationale, boundary=boundary, scale=scale, sign=sign)
    hit = [chosen[start:end] for start, end in runs(gold, parts(explanation)) if chosen[start:end].any()]
    without = 0.0 if published else np.nan
    return one_value(float(np.concatenate(hit).mean()) if hit else without, gold)
