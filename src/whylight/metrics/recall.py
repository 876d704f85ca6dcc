"""Recall: the share of the gold features that reaches the boundary.

    r = |A and E| / |E|,   A = {i : s_i >= boundary, s_i > 0},   s divided by its sum

nan if no feature is gold. The boundary has no default: it is tuned on other texts (`_corpus.tune_boundary`). This is
the value of one pair, as a macro average needs it; the tables of Edin et al. 2024 sum counts over all pairs
(`_corpus.micro_prf`), and their code compares with > instead of >=. Higher is better.
Reference: DeYoung et al. 2020; Edin et al. 2024. Cost: none.
"""

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.core.registry import metric
from whylight.metrics._plausibility import Scale, Sign, agreement, at_boundary, one_value


@metric(cite="deyoung2020", higher_is_better=True)
def recall(
    explanation: Explanation,
    rationale: Rationale,
    *,
    boundary: float | None = None,
    scale: Scale = "sum",
    sign: Sign = "positive",
) -> Floats:
    """Measure which share of the gold features reaches the boundary (nan without gold features)."""
    chosen, gold = at_boundary(explanation, rationale, boundary=boundary, scale=scale, sign=sign)
    return one_value(agreement(chosen, gold).recall, gold)
