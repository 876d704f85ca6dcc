"""What metrics of two explanations share: rows of the same target over the same features."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.metrics._curves import rows

Comparison = Literal["signed", "positive", "absolute"]


def paired(explanation: Explanation, other: Explanation, *, sign: Comparison = "signed") -> tuple[Floats, Floats]:
    """Return the rows of both for each target of the first, `[targets, features]` each."""
    if (explanation.example, explanation.places) != (other.example, other.places):
        raise SettingError("two explanations are compared feature by feature; these are of other texts or units.")
    if other.provenance.class_specific and not set(explanation.targets) <= set(other.targets):
        raise SettingError("the second explanation lacks targets of the first; explain the same labels.")
    theirs = np.stack([other.row(target) for target in explanation.targets])
    return _signed(rows(explanation), sign), _signed(theirs, sign)


def correlation(first: Floats, second: Floats, statistic: Callable[[Floats, Floats], float]) -> Floats:
    """Correlate row by row; nan where one of the two is constant."""
    return np.asarray(
        [
            np.nan if _constant(one) or _constant(two) else float(statistic(one, two))
            for one, two in zip(first, second, strict=True)
        ]
    )


def _constant(row: Floats) -> bool:
    return len(row) == 0 or bool((row == row[0]).all())


def _signed(scores: Floats, sign: Comparison) -> Floats:
    if sign == "signed":
        return scores
    return np.abs(scores) if sign == "absolute" else np.maximum(scores, 0.0)
