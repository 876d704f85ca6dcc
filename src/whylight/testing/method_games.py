"""What a method of games promises on games that are known through and through."""

import numpy as np

from whylight.core.scores import Scores
from whylight.testing.games import constant_game, random_game
from whylight.testing.method_subject import MethodSubject
from whylight.testing.running import promise
from whylight.views.game import Game

ROUNDED = 1e-9
"""Games are computed in double precision."""


def a_game_is_asked_in_masks_and_scored_by_target_and_feature(subject: MethodSubject) -> None:
    """One feature, two, and several."""
    for n_features, n_targets in ((1, 1), (2, 3), (6, 2)):
        found = _scores_of_game(subject, random_game(n_features, n_targets)[0]).values
        rows = n_targets if subject.spec.facts["class_specific"] else 1
        promise(found.shape == (rows, n_features), f"scores must be of shape {(rows, n_features)}, not {found.shape}.")
        promise(np.isfinite(found).all(), f"scores of a game of {n_features} features must be finite numbers.")


def a_game_in_which_nothing_counts_scores_nothing(subject: MethodSubject) -> None:
    """Unless the method asks for nothing: then its scores are not of the game at all."""
    game, asked = constant_game(5, 2)
    largest = float(np.abs(_scores_of_game(subject, game).values).max())
    kept = largest <= ROUNDED or not asked
    promise(kept, f"features of a constant game must score 0; one scores {largest:g} after {len(asked)} questions.")


def the_gap_of_a_game_is_the_true_one(subject: MethodSubject) -> None:
    """Sum of scores - gap = f(all features) - f(none), exactly."""
    game = random_game(6, 2)[0]
    found = _scores_of_game(subject, game)
    if found.gap is None:
        raise AssertionError("a complete method must return `game.complete(values)`, which has the gap; it has none.")
    apart = float(np.abs(found.values.sum(axis=1) - found.gap - (game.full - game.empty)).max())
    promise(apart <= ROUNDED, f"scores minus their gap must sum to f(all) - f(none); they miss it by {apart:g}.")


def _scores_of_game(subject: MethodSubject, game: Game) -> Scores:
    found = subject.spec.function(game, **subject.spec.complete_settings(subject.settings_for(subject.classifier)))
    return found if isinstance(found, Scores) else Scores(np.asarray(found, dtype=np.float64))
