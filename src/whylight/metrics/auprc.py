"""AUPRC: the area under the precision-recall curve of one explanation.

    auprc = integral of precision over recall, by trapezoids, from recall 0 and precision 1 on

The curve has a point at every distinct score; tied features come in together. nan if no feature is gold. Higher is
better. The tables of Edin et al. 2024 put the features of all pairs into one curve (`_corpus.corpus_auprc`), on 101
thresholds of which nearly all lie above the highest score.
Reference: Davis and Goadrich 2006. Cost: none.
"""

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.core.registry import metric
from whylight.metrics._plausibility import Sign, one_value, pair
from whylight.metrics._thresholds import area_under_precision_recall


@metric(cite="davis2006", higher_is_better=True)
def auprc(explanation: Explanation, rationale: Rationale, *, sign: Sign = "positive") -> Floats:
    """Measure the area under the precision-recall curve (nan without gold features)."""
    scores, gold = pair(explanation, rationale, sign=sign)
    return one_value(area_under_precision_recall(scores, gold), gold)
