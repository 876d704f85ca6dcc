"""An explanation alone, without asking model or people: how focused it is, how long, how much of it is signs."""

import numpy as np
from scipy.special import xlogy

from whylight.core.arrays import Bools, Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._curves import check_positive, ranked_features, target_rows
from whylight.metrics._plausibility import Scale, Sign, above, non_negative, scaled


@metric(cite="edin2024", higher_is_better=False)
def entropy(explanation: Explanation, *, sign: Sign = "positive") -> Floats:
    """Measure how evenly scores spread over features, one value per target (nan if there is nothing to spread).

        h = - sum over i of p_i log2 p_i / log2 n,   p = non-negative scores divided by their sum

    0 if one feature has everything, 1 if all have the same. nan for fewer than two features, or if no score is above 0.
    Lower is more focused, which is not in itself more faithful.
    Reference: Edin et al. 2024, appendix E.4. Cost: none.
    """
    shares = scaled(non_negative(target_rows(explanation), sign), "sum")
    n = shares.shape[1]
    if n < 2:  # noqa: PLR2004  one feature cannot spread
        return np.full(len(shares), np.nan)
    bits = -xlogy(shares, shares).sum(axis=1) / np.log(n)
    return np.where(shares.any(axis=1), np.clip(bits, 0.0, 1.0), np.nan)


@metric(cite="edin2024", higher_is_better=False)
def evidence_size(
    explanation: Explanation, *, boundary: float | None = None, scale: Scale = "sum", sign: Sign = "positive"
) -> Floats:
    """Count the features that reach the boundary, one value per target.

    The boundary is that of `token_f1`; it has no default. Lower is shorter to read; explanations of Edin et al. 2024
    have 3.7 tokens per code on average.
    Reference: Edin et al. 2024. Cost: none.
    """
    chosen = above(scaled(non_negative(target_rows(explanation), sign), scale), boundary)
    return np.asarray(chosen.sum(axis=1), dtype=np.float64)


@metric(cite="edin2024", higher_is_better=False)
def non_alphanumeric_share(explanation: Explanation, *, k: int = 5) -> Floats:
    """Measure which share of the top features has no letter or digit, one value per target (nan without features).

        share = |features without a Unicode letter or digit among the top k| / min(k, n)

    Edin et al. 2024 find that the more of the top five tokens are such signs, the worse an explanation is. Features are
    ranked by signed score, ties in reading order. Lower is better.
    Reference: Edin et al. 2024, figure 4. Cost: none.
    """
    check_positive("k", k)
    signs = non_alphanumeric(explanation)
    if not len(signs):
        return np.full(len(explanation.targets), np.nan)
    return np.asarray(signs[ranked_features(target_rows(explanation))[:, :k]].mean(axis=1))


def non_alphanumeric(explanation: Explanation) -> Bools:
    """Mark the features without a letter or digit, `[features]`: punctuation and other signs."""
    texts = [explanation.example.show(place) for place in explanation.places]
    return np.asarray([not any(character.isalnum() for character in text) for text in texts], dtype=bool)
