"""Kendall's tau: how far two explanations put pairs of features in the same order.

    tau-b = (concordant - discordant) / sqrt((pairs - ties in one) (pairs - ties in two))

nan where one of the two is constant. `sign="absolute"` compares absolute scores, as Ferreira et al. do. Higher is more
alike.
Reference: Kendall 1945; Ferreira et al. 2025. Cost: none.
"""

from scipy import stats

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._agreement import Comparison, correlation, paired


@metric(cite="kendall1945", higher_is_better=True)
def kendall_tau(explanation: Explanation, other: Explanation, *, sign: Comparison = "signed") -> Floats:
    """Measure how far two explanations order features alike, one value a target (nan for constant scores)."""
    first, second = paired(explanation, other, sign=sign)
    return correlation(first, second, lambda one, two: stats.kendalltau(one, two).statistic)
