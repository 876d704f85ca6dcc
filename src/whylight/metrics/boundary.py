"""Plausibility at a decision boundary, feature by feature: what reaches the boundary against what people marked.

    A = {i : s_i >= boundary, s_i > 0},   E = gold features,   s = non-negative scores divided by their sum

`scale="max"` divides by the maximum instead (Pham et al. 2022). The boundary has no default: it is tuned on other texts
(`_corpus.tune_boundary`). Each value is that of one pair (text, label), as a macro average needs it; the tables of Edin
et al. 2024 sum counts over all pairs (`micro_precision`, `micro_recall`, `micro_f1`), and their code compares with >
instead of >=; those of Pham et al. are the F1 of averaged precision and recall (`f1_of_means`). A feature is a word by
default; "token" is the literature's word for it.
"""

from typing import Literal

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.core.registry import metric
from whylight.metrics._plausibility import (
    Scale,
    Sign,
    at_boundary,
    best,
    feature_agreement,
    one_value,
    pair,
    ratio,
)


@metric(cite="deyoung2020", higher_is_better=True)
def precision(
    explanation: Explanation,
    rationale: Rationale,
    *,
    boundary: float | None = None,
    scale: Scale = "sum",
    sign: Sign = "positive",
) -> Floats:
    """Measure which share of the features at the boundary is gold (nan without gold features).

        p = |A and E| / |A|

    0 if nothing reaches the boundary. Higher is better.
    Reference: DeYoung et al. 2020; Edin et al. 2024. Cost: none.
    """
    chosen, gold = at_boundary(explanation, rationale, boundary=boundary, scale=scale, sign=sign)
    return one_value(feature_agreement(chosen, gold).precision, gold)


@metric(cite="deyoung2020", higher_is_better=True)
def recall(
    explanation: Explanation,
    rationale: Rationale,
    *,
    boundary: float | None = None,
    scale: Scale = "sum",
    sign: Sign = "positive",
) -> Floats:
    """Measure which share of the gold features reaches the boundary (nan without gold features).

        r = |A and E| / |E|

    Higher is better.
    Reference: DeYoung et al. 2020; Edin et al. 2024. Cost: none.
    """
    chosen, gold = at_boundary(explanation, rationale, boundary=boundary, scale=scale, sign=sign)
    return one_value(feature_agreement(chosen, gold).recall, gold)


@metric(cite="deyoung2020", higher_is_better=True)
def token_f1(
    explanation: Explanation,
    rationale: Rationale,
    *,
    boundary: float | None = None,
    scale: Scale = "sum",
    sign: Sign = "positive",
) -> Floats:
    """Measure how far the features at the boundary are the gold ones (nan without gold features).

        f1 = 2 |A and E| / (|A| + |E|)

    0 if nothing reaches the boundary. Higher is better.
    Reference: DeYoung et al. 2020. Cost: none.
    """
    chosen, gold = at_boundary(explanation, rationale, boundary=boundary, scale=scale, sign=sign)
    return one_value(feature_agreement(chosen, gold).f1, gold)


@metric(cite="edin2024", higher_is_better=False)
def empty_rate(
    explanation: Explanation,
    rationale: Rationale,
    *,
    boundary: float | None = None,
    scale: Scale = "sum",
    sign: Sign = "positive",
) -> Floats:
    """Say whether nothing reaches the boundary, 1 or 0 (nan without gold features).

    A reviewer is then shown nothing. The mean over pairs is the rate; it is over pairs with a rationale.
    Lower is better.
    Reference: Edin et al. 2024. Cost: none.
    """
    chosen, gold = at_boundary(explanation, rationale, boundary=boundary, scale=scale, sign=sign)
    return one_value(float(not chosen.any()), gold)


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
    """Measure the overlap of named and gold features (nan without gold features).

        iou = |A and E| / |A or E|

    A are as many of the highest features as are gold (`at="rationale"`, Edin et al. 2024), or those at the boundary
    (`at="threshold"`, Pham et al. 2022, who scale by the maximum, and count 1 if both are empty). Higher is better.
    Reference: DeYoung et al. 2020; Edin et al. 2024. Cost: none.
    """
    if at == "rationale":
        scores, gold = pair(explanation, rationale, sign=sign)
        chosen = best(scores, "rationale", gold)
    else:
        chosen, gold = at_boundary(explanation, rationale, boundary=boundary, scale=scale, sign=sign)
    return one_value(ratio((chosen & gold).sum(), (chosen | gold).sum()), gold)
