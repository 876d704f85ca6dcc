"""ROC AUC: the chance that a gold feature scores higher than one that is not gold, ties counting half.

    auc = 1/(|E| |not E|) sum over gold i and other j of [s_i > s_j] + [s_i = s_j] / 2

nan if all features are gold, or none. Higher is better; scores without any information reach 0.5. Ferreira et al. take
absolute scores (`sign="absolute"`) of subwords, [CLS] and [SEP] among them; special tokens are no features here.
Reference: Ferreira et al. 2025. Cost: none.
"""

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.core.registry import metric
from whylight.metrics._plausibility import Sign, one_value, pair
from whylight.metrics._thresholds import roc_auc_of


@metric(cite="ferreira2025", higher_is_better=True)
def roc_auc(explanation: Explanation, rationale: Rationale, *, sign: Sign = "positive") -> Floats:
    """Measure how often a gold feature outranks another one (nan if all features are gold, or none)."""
    scores, gold = pair(explanation, rationale, sign=sign)
    return one_value(roc_auc_of(scores, gold), gold)
