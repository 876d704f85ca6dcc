"""Spearman's rho: how far the ranks of two explanations grow together.

    rho = Pearson's correlation of the ranks, tied features with their mean rank

nan where one of the two is constant. `sign="absolute"` compares absolute scores, as Ferreira et al. do. Higher is more
alike.
Reference: Spearman 1904. Cost: none.
"""

from scipy import stats

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._agreement import Comparison, correlation, paired


@metric(cite="spearman1904", higher_is_better=True)
def spearman(explanation: Explanation, other: Explanation, *, sign: Comparison = "signed") -> Floats:
    """Correlate the ranks of two explanations, one value a target (nan for constant scores)."""
    first, second = paired(explanation, other, sign=sign)
    return correlation(first, second, lambda one, two: float(stats.spearmanr(one, two).statistic))
