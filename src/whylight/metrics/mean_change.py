"""Mean change: how far the score of a feature moves from one explanation to the other.

    change = mean over i of |a_i / s(a) - b_i / s(b)|    with s(a) = max over j of |a_j|

Each explanation is divided by its own largest absolute score, so that scores lie in [-1, 1] and methods of different
units can be compared; the change then lies in [0, 2]. `scale="sum"` divides by the sum of absolute scores, `"none"`
leaves scores as they are. Pham et al. 2022 do not say how they scale, and their code has no such metric; `max` is how
their maps are drawn. All zeros stay zeros. nan without features. Lower is more alike. In the sanity check the second
explanation is of a model whose weights were randomised; there, more change is what a method should show.
Reference: Pham et al. 2022, table A5 (b). Cost: none.
"""

from typing import Literal

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._agreement import paired
from whylight.metrics._plausibility import scaled

Scale = Literal["max", "sum", "none"]


@metric(cite="pham2022", higher_is_better=False)
def mean_change(explanation: Explanation, other: Explanation, *, scale: Scale = "max") -> Floats:
    """Average how far scores move from one explanation to the other, one value a target (nan without features)."""
    first, second = paired(explanation, other)
    if not first.shape[1]:
        return np.full(len(first), np.nan)
    return np.asarray(np.abs(_scaled(first, scale) - _scaled(second, scale)).mean(axis=1))


def _scaled(scores: Floats, scale: Scale) -> Floats:
    return scores if scale == "none" else np.sign(scores) * scaled(np.abs(scores), scale)
