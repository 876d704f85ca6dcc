"""Numbers as reports show them: never as 0, 1 or a threshold that they are not quite."""

import math
from dataclasses import dataclass

from whylight.core.explanation import Prediction

_DIGITS = range(2, 7)
_LEAST = 1e-6
_TINY = 1e-4


@dataclass(frozen=True, slots=True)
class Decision:
    """A label's probability as shown, and the threshold it is held against, "" where there is none.

    Of a regression it is a value, and called so.
    """

    probability: str
    threshold: str
    called: str = "probability"


def decision(probability: float, threshold: float | None) -> Decision:
    """Show a probability with as many digits as keep it from looking like 0, 1 or the threshold if it is not quite."""
    digits = next((few for few in _DIGITS if _told_apart(probability, threshold, few)), _DIGITS[-1])
    shown = f"{probability:.{digits}f}"
    if 0 < probability < _LEAST or 1 - _LEAST < probability < 1:
        digits, shown = _DIGITS[0], f"<{_LEAST:f}" if probability < _LEAST else f">{1 - _LEAST:f}"
    return Decision(shown, "" if threshold is None else f"{threshold:.{digits}f}")


def decided(prediction: Prediction, column: int) -> Decision:
    """Show what was said of a column: its probability and threshold, or the value of a regression."""
    if prediction.values:
        return Decision(f"{prediction.values[column]:.4g}", "", "value")
    return decision(prediction.probabilities[column], prediction.threshold)


def answered(prediction: Prediction, column: int) -> str:
    """Show the probability of a column in percent, or the value of a regression."""
    return f"{prediction.values[column]:.4g}" if prediction.values else percentage(prediction.probabilities[column])


def percentage(probability: float) -> str:
    """Show a probability; what is not quite 0 or 1 is not rounded to it."""
    if 0 < probability < 0.001:  # noqa: PLR2004  the smallest share that one decimal can show
        return "<0.1%"
    if 0.999 < probability < 1:  # noqa: PLR2004  likewise
        return ">99.9%"
    return f"{probability:.1%}"


def exact_score(score: float, *, signed: bool) -> str:
    """Show a score with six digits."""
    return f"{score:+.6g}" if signed else f"{score:.6g}"


def shown_score(score: float, *, peak: float, signed: bool) -> str:
    """Show a score with three digits of the row's largest magnitude, so that the column lines up."""
    sign = "+" if signed else ""
    if peak < _TINY:
        return f"{score:{sign}.2e}"
    decimals = max(0, 2 - math.floor(math.log10(peak)))
    return f"{score:{sign}.{decimals}f}"


def _told_apart(probability: float, threshold: float | None, digits: int) -> bool:
    """Say whether a probability, rounded, looks like nothing that matters and that it is not."""
    others = (0.0, 1.0) if threshold is None else (0.0, 1.0, threshold)
    return all(one == probability or f"{one:.{digits}f}" != f"{probability:.{digits}f}" for one in others)
