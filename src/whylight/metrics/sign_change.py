"""Share of sign changes: how many features speak for the label in one explanation and against it in the other.

    share = |{i : a_i > 0 > b_i or a_i < 0 < b_i}| / n

A score of 0 has no sign, so that nothing changes to or from it. nan where one of the two has no signs (attention,
saliency), and without features. Lower is more alike. In the sanity check the second explanation is of a model whose
weights were randomised; there, more change is what a method should show.
Reference: Pham et al. 2022, table A5 (a); their code has no such metric. Cost: none.
"""

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._agreement import paired


@metric(cite="pham2022", higher_is_better=False)
def sign_change(explanation: Explanation, other: Explanation) -> Floats:
    """Measure the share of features whose score changes sign, one value a target (nan for scores without signs)."""
    first, second = paired(explanation, other)
    if not (explanation.provenance.signed and other.provenance.signed and first.shape[1]):
        return np.full(len(first), np.nan)
    return np.asarray((np.sign(first) * np.sign(second) < 0).mean(axis=1))
