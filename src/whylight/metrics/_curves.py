"""What faithfulness metrics share: the ranking, how many features a share is, and scores along the ranking.

Features are ranked by signed score, highest first, ties in reading order. A curve asks the game once, for the distinct
coalitions of all targets together; the untouched and the empty input are the game's own `full` and `empty`, which it
keeps, so that several metrics of one game share them.
"""

from collections.abc import Sequence
from math import ceil
from typing import Literal

import numpy as np

from whylight.core import progress
from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.views.game import Game, block_size

Rounding = Literal["round", "floor"]
Divisor = Literal["shares", "published"]
SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
"""The shares of DeYoung et al. 2020."""
CURVE_SHARES = (0.0, *SHARES, 1.0)
"""The points of a drawn curve: those shares, the untouched and the empty input."""
EXACT = 9
"""Decimals to which a number of features is exact: 0.29 * 100 is 28.999999999999996, and means 29."""
NOTHING_TO_LOSE = 1e-5
"""Below this drop of the null input Carton et al. 2020 set normalised values to 0."""
ROUNDING = 1e-12
"""Numbers that differ by less than this share of the larger one are the same but for rounding."""
PLACE_BYTES = 8
"""What a rank takes, beside the one byte of a keep mask."""
PUBLISHED_STEP = 2
"""Words between two points of the cumulative metrics of Edin et al. 2024, as their code has it."""


def target_rows(explanation: Explanation) -> Floats:
    """Return one row of scores per target, `[targets, features]`; targets that share a row each get it."""
    return np.stack([explanation.row(target) for target in explanation.targets])


def rows_for(explanation: Explanation, game: Game) -> Floats:
    """Return one row of scores per target of a game, `[targets, features]`; a game of others is refused."""
    scores = target_rows(explanation)
    if scores.shape != (game.n_targets, game.n_features):
        raise SettingError(
            f"the explanation has {scores.shape[0]} targets and {scores.shape[1]} features, "
            f"and what it is measured on has {game.n_targets} and {game.n_features}."
        )
    return scores


def ranked_features(scores: Floats) -> Ints:
    """Return the features of each row, most important first, ties in reading order."""
    return np.argsort(-scores, axis=-1, kind="stable")


def top(scores: Floats, counts: Sequence[int] | Ints) -> Bools:
    """Mark the most important features of each row for each count, `[rows, counts, features]`."""
    place = np.argsort(ranked_features(scores), axis=-1)
    return np.asarray(place[:, None, :] < np.asarray(counts)[None, :, None])


def top_count(share: float, n_features: int, *, rounding: Rounding = "round") -> int:
    """Return how many features a share is: max(1, round half up), or rounded down, which may be none."""
    exact = round(share * n_features, EXACT)
    count = int(exact) if rounding == "floor" else max(1, int(exact + 0.5))
    return min(count, n_features)


def check_share(name: str, share: float) -> None:
    """Refuse a share that is no share."""
    if not 0 < share <= 1:
        raise SettingError(f"the setting '{name}' must lie above 0 and be at most 1, not {share:g}.")


def check_positive(name: str, number: int) -> None:
    """Refuse a number of things that is not at least one."""
    if number < 1:
        raise SettingError(f"the setting '{name}' must be at least 1, not {number}.")


def share_counts(steps: int | None, n_features: int, *, rounding: Rounding) -> list[int]:
    """Return the counts of the usual shares, or of `steps` shares at equal distance between 0 and 1."""
    if steps is not None:
        check_positive("steps", steps)
    shares = SHARES if steps is None else tuple((i + 1) / (steps + 1) for i in range(steps))
    return [top_count(share, n_features, rounding=rounding) for share in shares]


def mean_over_shares(values: Floats, divisor: Divisor) -> Floats:
    """Average `[targets, shares]` over the shares; the published divisor counts one share too many."""
    return np.asarray(values.sum(axis=1) / (values.shape[1] + (divisor == "published")))


def removal_curve(explanation: Explanation, game: Game, counts: Sequence[int]) -> Floats:
    """Return the score of each target without its most important features, `[targets, counts]`."""
    return _ask(game, _ranks(explanation, game), counts, kept=False)


def keep_curve(explanation: Explanation, game: Game, counts: Sequence[int]) -> Floats:
    """Return the score of each target with its most important features alone, `[targets, counts]`."""
    return _ask(game, _ranks(explanation, game), counts, kept=True)


def perturbation_curves(explanation: Explanation, game: Game) -> tuple[Floats, Floats]:
    """Return the score without the top features, and with them alone, at `CURVE_SHARES`, `[targets, shares]` each."""
    counts = [top_count(share, game.n_features) if share else 0 for share in CURVE_SHARES]
    return removal_curve(explanation, game, counts), keep_curve(explanation, game, counts)


def removal_drop(explanation: Explanation, game: Game, counts: Sequence[int]) -> Floats:
    """Return how far each target falls without its most important features, `[targets, counts]`."""
    return game.full[:, None] - removal_curve(explanation, game, counts)


def keep_drop(explanation: Explanation, game: Game, counts: Sequence[int]) -> Floats:
    """Return how far each target falls with its most important features alone, `[targets, counts]`; 0 for none."""
    chosen = [count for count in counts if count]
    drops = np.zeros((game.n_targets, len(counts)))
    drops[:, np.asarray(counts) > 0] = game.full[:, None] - keep_curve(explanation, game, chosen)
    return drops


def area_counts(n_features: int, *, until: float, published: bool) -> list[int]:
    """Return the counts that an area is taken over, at least two of them, or none where there is no area.

    Args:
        n_features: Number of features.
        until: Share of the features that is gone through.
        published: Pham et al. 2022's points: 1 to m with m = max(2, ceil(until (n - 1))), without the starting point.
    """
    check_share("until", until)
    if published:
        last = max(2, ceil(round(until * (n_features - 1), EXACT)))
        return list(range(1, last + 1)) if last <= n_features else []
    return list(range(top_count(until, n_features) + 1)) if n_features else []


def area(curve: Floats, *, published: bool) -> Floats:
    """Integrate each row by trapezoids, x going evenly from 0 to 1; nan without points.

    The published x goes from 1/m to 1, so that a curve that stays at 1 has the area (m - 1)/m.
    """
    points = curve.shape[1]
    if not points:
        return np.full(len(curve), np.nan)
    between = (curve[:, 1:] + curve[:, :-1]) / 2
    return np.asarray(between.sum(axis=1) / (points if published else points - 1))


def cumulative_counts(n_features: int, *, words: int, step: int | None, published: bool, kept: bool) -> list[int]:
    """Return the counts of the cumulative metrics of Edin et al. 2024: k = 1 to min(words, n).

    Args:
        n_features: Number of features.
        words: The most features that are gone through.
        step: Features between two points; 1 if left out, and 2 as published.
        published: The points of the published code: 0, 2, ..., 98 of 100 features removed, or 100, 98, ..., 2 kept.
        kept: Whether the features are kept rather than removed.
    """
    check_positive("words", words)
    distance = step if step is not None else PUBLISHED_STEP if published else 1
    check_positive("step", distance)
    last = min(words, n_features)
    if not last:
        return []
    if published:
        return list(range(last, 0, -distance)) if kept else list(range(0, last, distance))
    return list(range(min(distance, last), last + 1, distance))


def null_drop(game: Game) -> Floats:
    """Return how far each target falls when everything is removed, at least 0, `[targets]`."""
    return np.maximum(0.0, game.full - game.empty)


def share_of(part: Floats, null: Floats) -> Floats:
    """Divide by the drop of the null input and clip to [0, 1]; 0 where there is nothing to lose."""
    some = null >= NOTHING_TO_LOSE
    return np.where(some, np.clip(part / np.where(some, null, 1.0), 0.0, 1.0), 0.0)


def relative(drops: Floats, full: Floats) -> Floats:
    """Average drops `[targets, counts]`, divided by the score of the untouched input; nan where that is not above 0."""
    if not drops.shape[1]:
        return np.full(len(drops), np.nan)
    usable = full > 0
    return np.where(usable, drops.mean(axis=1) / np.where(usable, full, 1.0), np.nan)


def _ranks(explanation: Explanation, game: Game) -> Ints:
    """Return the rank of each feature for each target, `[targets, features]`."""
    return np.argsort(ranked_features(rows_for(explanation, game)), axis=-1)


def _ask(game: Game, places: Ints, counts: Sequence[int], *, kept: bool) -> Floats:
    """Return the score of each target with its first features by rank alone, or without them, `[targets, counts]`.

    Coalitions of a long text are made some at a time: a curve with a point per word has a coalition per word.
    """
    targets = np.repeat(np.arange(game.n_targets), len(counts))
    numbers = np.tile(np.asarray(counts, dtype=np.int64), game.n_targets)
    found = np.empty(len(targets))
    size = max(1, block_size(game.n_features) // PLACE_BYTES)
    with progress.blocks(-(-len(targets) // size)) as begin:
        for start in range(0, len(targets), size):
            begin()
            own = targets[start : start + size]
            keep = (places[own] < numbers[start : start + size, None]) == kept
            found[start : start + size] = _distinct_scores(game, keep)[np.arange(len(own)), own]
    return found.reshape(game.n_targets, len(counts))


def _distinct_scores(game: Game, keep: Bools) -> Floats:
    """Return the scores `[coalitions, targets]`, each distinct coalition asked for once."""
    keys = [np.packbits(row).tobytes() for row in keep]
    distinct = dict(zip(keys, keep, strict=True))
    coalitions = np.asarray(list(distinct.values()), dtype=bool).reshape(len(distinct), keep.shape[1])
    whole, none = coalitions.all(axis=1), ~coalitions.any(axis=1)
    scores = np.empty((len(distinct), game.n_targets))
    scores[~whole & ~none] = game(coalitions[~whole & ~none])
    if none.any():
        scores[none] = game.empty
    if whole.any():
        scores[whole] = game.full
    number = {key: place for place, key in enumerate(distinct)}
    return scores[np.asarray([number[key] for key in keys], dtype=np.int64)]
