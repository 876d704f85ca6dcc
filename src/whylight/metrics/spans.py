"""Plausibility at a decision boundary, span by span: runs of features that reach the boundary against gold runs.

A span is a maximal run of consecutive features of one text. The boundary is that of `token_f1`; it has no default. In
the tables of Edin et al. 2024 the columns "SpanR" and "Cover" are exchanged; names here are those of their text.
"""

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.core.registry import metric
from whylight.metrics._plausibility import (
    Scale,
    Sign,
    at_boundary,
    feature_parts,
    marked_runs,
    one_value,
    ratio,
    span_agreement,
)


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
    """Measure how far runs of features at the boundary are the gold runs (nan without gold features).

        p = share of predicted spans with IoU >= 0.5 with a gold span
        r = share of gold spans with IoU >= 0.5 with a predicted span

    The value is the harmonic mean of both; 0 if nothing reaches the boundary. The published codes (DeYoung et al. 2020,
    Brinner and Zarriess 2023) count right spans on the predicted side only and use that number for recall too
    (`published=True`). For maximal runs the two are the same: if a span shared at least half of its union with each of
    two others, the two would hold all of it, and leave no room for the gap between them. They differ where gold spans
    touch, which runs of features do not. Higher is better.
    Reference: DeYoung et al. 2020. Cost: none.
    """
    chosen, gold = at_boundary(explanation, rationale, boundary=boundary, scale=scale, sign=sign)
    return one_value(span_agreement(chosen, gold, feature_parts(explanation), published=published).f1, gold)


@metric(cite="edin2024", higher_is_better=True)
def span_recall(
    explanation: Explanation,
    rationale: Rationale,
    *,
    boundary: float | None = None,
    scale: Scale = "sum",
    sign: Sign = "positive",
) -> Floats:
    """Measure which share of the gold spans is hit at the boundary (nan without gold features).

    A span is hit if at least one of its features reaches the boundary. Higher is better.
    Reference: Edin et al. 2024. Cost: none.
    """
    chosen, gold = at_boundary(explanation, rationale, boundary=boundary, scale=scale, sign=sign)
    spans = marked_runs(gold, feature_parts(explanation))
    return one_value(ratio(sum(bool(chosen[start:end].any()) for start, end in spans), len(spans)), gold)


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
    """Measure which share of the hit gold spans reaches the boundary (nan without gold features or hits).

        cover = sum over hit gold spans of |A and span| / sum over hit gold spans of |span|

    nan without a hit, so that the mean is over pairs with a hit, as Edin et al. 2024 write; their code counts pairs
    without a hit as 0 (`published=True`). Higher is better.
    Reference: Edin et al. 2024. Cost: none.
    """
    chosen, gold = at_boundary(explanation, rationale, boundary=boundary, scale=scale, sign=sign)
    hit = [chosen[start:end] for start, end in marked_runs(gold, feature_parts(explanation)) if chosen[start:end].any()]
    without = 0.0 if published else np.nan
    return one_value(float(np.concatenate(hit).mean()) if hit else without, gold)
