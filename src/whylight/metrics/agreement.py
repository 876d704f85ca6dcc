"""Two explanations of the same text and targets: how far they order, score and sign features alike.

Explanations are compared feature by feature; `sign="absolute"` compares absolute scores, as Ferreira et al. do, and
`sign="positive"` their positive parts. In the sanity check the second explanation is of a model whose weights were
randomised; there, little likeness is what a method should show.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy import stats

from whylight.core.arrays import Floats
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._curves import check_positive, target_rows, top
from whylight.metrics._plausibility import scaled

Signs = Literal["signed", "positive", "absolute"]
ChangeScale = Literal["max", "sum", "none"]


@metric(cite="kendall1945", higher_is_better=True)
def kendall_tau(explanation: Explanation, other: Explanation, *, sign: Signs = "signed") -> Floats:
    """Measure how far two explanations order features alike, one value per target (nan for constant scores).

        tau-b = (concordant - discordant) / sqrt((pairs - ties in one) (pairs - ties in two))

    Higher is more alike.
    Reference: Kendall 1945; Ferreira et al. 2025. Cost: none.
    """
    first, second = _paired(explanation, other, sign=sign)
    return _correlation(first, second, lambda one, two: stats.kendalltau(one, two).statistic)


@metric(cite="pearson1895", higher_is_better=True)
def pearson(explanation: Explanation, other: Explanation, *, sign: Signs = "signed") -> Floats:
    """Correlate the scores of two explanations, one value per target (nan for constant scores).

        r = cov(s, t) / (sd(s) sd(t))

    Higher is more alike.
    Reference: Pearson 1895. Cost: none.
    """
    first, second = _paired(explanation, other, sign=sign)
    return _correlation(first, second, lambda one, two: stats.pearsonr(one, two).statistic)


@metric(cite="spearman1904", higher_is_better=True)
def spearman(explanation: Explanation, other: Explanation, *, sign: Signs = "signed") -> Floats:
    """Correlate the ranks of two explanations, one value per target (nan for constant scores).

        rho = Pearson's correlation of the ranks, tied features with their mean rank

    Higher is more alike.
    Reference: Spearman 1904. Cost: none.
    """
    first, second = _paired(explanation, other, sign=sign)
    return _correlation(first, second, lambda one, two: float(stats.spearmanr(one, two).statistic))


@metric(cite="krishna2022", higher_is_better=True)
def top_k_overlap(explanation: Explanation, other: Explanation, *, k: int = 5, sign: Signs = "signed") -> Floats:
    """Measure which share of the top features two explanations share, one value per target (nan without features).

        overlap = |top k of one and top k of the other| / min(k, n)

    Features are ranked by score, ties in reading order. Higher is more alike.
    Reference: Krishna et al. 2022 ("feature agreement"). Cost: none.
    """
    check_positive("k", k)
    first, second = _paired(explanation, other, sign=sign)
    size = min(k, first.shape[1])
    if not size:
        return np.full(len(first), np.nan)
    return np.asarray((top(first, [k]) & top(second, [k])).sum(axis=(1, 2)) / size)


@metric(cite="pham2022", higher_is_better=False, signed=True)
def sign_change(explanation: Explanation, other: Explanation) -> Floats:
    """Measure the share of features whose score changes sign, one value per target (nan for scores without signs).

        share = |{i : a_i > 0 > b_i or a_i < 0 < b_i}| / n

    A score of 0 has no sign, so that nothing changes to or from it. nan where one of the two has no signs (attention,
    saliency), and without features. Lower is more alike.
    Reference: Pham et al. 2022, table A5 (a); their code has no such metric. Cost: none.
    """
    first, second = _paired(explanation, other)
    if not (explanation.provenance.signed and other.provenance.signed and first.shape[1]):
        return np.full(len(first), np.nan)
    return np.asarray((np.sign(first) * np.sign(second) < 0).mean(axis=1))


@metric(cite="pham2022", higher_is_better=False)
def mean_change(explanation: Explanation, other: Explanation, *, scale: ChangeScale = "max") -> Floats:
    """Average how far scores move from one explanation to the other, one value per target (nan without features).

        change = mean over i of |a_i / s(a) - b_i / s(b)|    with s(a) = max over j of |a_j|

    Each explanation is divided by its own largest absolute score, so that scores lie in [-1, 1] and methods of other
    units can be compared; the change then lies in [0, 2]. `scale="sum"` divides by the sum of absolute scores, `"none"`
    leaves scores as they are. Pham et al. 2022 do not say how they scale, and their code has no such metric; `max` is
    how their maps are drawn. All zeros stay zeros. Lower is more alike.
    Reference: Pham et al. 2022, table A5 (b). Cost: none.
    """
    first, second = _paired(explanation, other)
    if not first.shape[1]:
        return np.full(len(first), np.nan)
    return np.asarray(np.abs(_to_scale(first, scale) - _to_scale(second, scale)).mean(axis=1))


def _paired(explanation: Explanation, other: Explanation, *, sign: Signs = "signed") -> tuple[Floats, Floats]:
    """Return the rows of both for each target of the first, `[targets, features]` each."""
    if (explanation.example, explanation.places) != (other.example, other.places):
        raise SettingError("two explanations are compared feature by feature; these are of other texts or units.")
    if other.provenance.class_specific and not set(explanation.targets) <= set(other.targets):
        raise SettingError("the second explanation lacks targets of the first; explain the same labels.")
    theirs = np.stack([other.row(target) for target in explanation.targets])
    return _signed(target_rows(explanation), sign), _signed(theirs, sign)


def _correlation(first: Floats, second: Floats, statistic: Callable[[Floats, Floats], float]) -> Floats:
    """Correlate row by row; nan where one of the two is constant."""
    return np.asarray(
        [
            np.nan if _constant(one) or _constant(two) else float(statistic(one, two))
            for one, two in zip(first, second, strict=True)
        ]
    )


def _constant(row: Floats) -> bool:
    return len(row) == 0 or bool((row == row[0]).all())


def _signed(scores: Floats, sign: Signs) -> Floats:
    if sign == "signed":
        return scores
    return np.abs(scores) if sign == "absolute" else np.maximum(scores, 0.0)


def _to_scale(scores: Floats, scale: ChangeScale) -> Floats:
    return scores if scale == "none" else np.sign(scores) * scaled(np.abs(scores), scale)
