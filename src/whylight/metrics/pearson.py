"""Pearson's r: how far the scores of two explanations are linear in each other.

    r = cov(s, t) / (sd(s) sd(t))

nan where one of the two is constant. `sign="absolute"` compares absolute scores, as Ferreira et al. do. Higher is more
alike.
Reference: Pearson 1895. Cost: none.
"""

from scipy import stats

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._agreement import Comparison, correlation, paired


@metric(cite="pearson1895", higher_is_better=True)
def pearson(explanation: Explanation, other: Explanation, *, sign: Comparison = "signed") -> Floats:
    """Correlate the scores of two explanations, one value a target (nan for constant scores)."""
    first, second = paired(explanation, other, sign=sign)
    return correlation(first, second, lambda one, two: stats.pearsonr(one, two).statistic)
