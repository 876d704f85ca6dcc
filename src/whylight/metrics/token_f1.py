"""Token F1: how far the features at or above the boundary are the gold ones.

    f1 = 2 |A and E| / (|A| + |E|),   A = {i : s_i >= boundary, s_i > 0},   s divided by its sum

0 if nothing reaches the boundary, nan if no feature is gold. The boundary has no default: it is tuned on other texts
(`_corpus.tune_boundary`). This is the value of one pair, as a macro average needs it; the tables of Edin et al. 2024
sum counts over all pairs (`_corpus.micro_prf`), those of Pham et al. 2022 are the F1 of averaged precision and recall.
"Token" is the literature's word; it is a feature of the explanation, a word by default. Higher is better.
Reference: DeYoung et al. 2020. Cost: none.
"""

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.core.registry import metric
from whylight.metrics._plausibility import Scale, Sign, agreement, at_boundary, one_value


@metric(cite="deyoung2020", higher_is_better=True)
def token_f1(
    explanation: Explanation,
    rationale: Rationale,
    *,
    boundary: float | None = None,
    scale: Scale = "sum",
    sign: Sign = "positive",
) -> Floats:
    """Measure how far the features at the boundary are the gold ones (nan without gold features)."""
    chosen, gold = at_boundary(explanation, rationale, boundary=boundary, scale=scale, sign=sign)
    return one_value(agreement(chosen, gold).f1, gold)
