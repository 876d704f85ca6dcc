"""Evidence size: how many features reach the boundary.

The boundary is one on scores divided by their sum, as for `token_f1`; it has no default. Lower is shorter to read;
Edin et al. 2024's explanations have 3.7 tokens a code on average.
Reference: Edin et al. 2024. Cost: none.
"""

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._curves import rows
from whylight.metrics._plausibility import Scale, Sign, above, non_negative, scaled


@metric(cite="edin2024", higher_is_better=False)
def evidence_size(
    explanation: Explanation, *, boundary: float | None = None, scale: Scale = "sum", sign: Sign = "positive"
) -> Floats:
    """Count the features that reach the boundary, one value a target."""
    chosen = above(scaled(non_negative(rows(explanation), sign), scale), boundary)
    return np.asarray(chosen.sum(axis=1), dtype=np.float64)
