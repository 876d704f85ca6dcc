"""Faithfulness by areas: the mean height of the score while features go, or come back, most important first.

    auc = area under f over k/m,   k = 0 ... m,   m = the first `until` of the features

x goes from 0, the starting point, to 1; by default until everything is gone or back. With `until` below 1 it is scaled
to the stretch that is gone through, so that a score that does not move has the same area whatever the length.
`until=0.2, published=True` is Pham et al. 2022's deletion: k = 1 ... m with m = max(2, ceil(until (n - 1))), x from 1/m
to 1, the starting point left out, so that a score that stays at 1 has the area (m - 1)/m. It is nan for fewer than two
features.
"""

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.core.registry import metric
from whylight.metrics._curves import area, area_counts, keep_curve, removal_curve
from whylight.views.game import Game


@metric(cite="petsiuk2018", higher_is_better=False)
def deletion_auc(explanation: Explanation, game: Game, *, until: float = 1.0, published: bool = False) -> Floats:
    """Integrate the score while the top features are removed, one value per target (nan without features).

    f is that of x without the top k features; the starting point is the untouched input. Lower is better.
    Reference: Petsiuk et al. 2018. Cost: at most n + 1 forward passes for the first target, n - 1 for each other one.
    """
    counts = area_counts(game.n_features, until=until, published=published)
    return area(removal_curve(explanation, game, counts), published=published)


@metric(cite="petsiuk2018", higher_is_better=True)
def insertion_auc(explanation: Explanation, game: Game, *, until: float = 1.0, published: bool = False) -> Floats:
    """Integrate the score while the top features are put back, one value per target (nan without features).

    f is that of the top k features alone; the starting point is the empty input. `published=True` takes the points of
    Pham et al. 2022's deletion. Higher is better.
    Reference: Petsiuk et al. 2018. Cost: at most n + 1 forward passes for the first target, n - 1 for each other one.
    """
    counts = area_counts(game.n_features, until=until, published=published)
    return area(keep_curve(explanation, game, counts), published=published)
