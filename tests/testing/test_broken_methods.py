"""Every check of methods fails for a method that breaks its promise, and for no other reason."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from breaking import failing, inside

from whylight.core.errors import SettingError
from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.testing import check_method, method_checks
from whylight.testing.running import failure
from whylight.views.game import Game
from whylight.views.gradient import GradientView
from whylight.views.view import View


class Unseen(View):
    """What no classifier offers."""


def drops(game: Game) -> Any:
    return (game.full - game(~np.eye(game.n_features, dtype=bool))).T


def shares(view: GradientView) -> Any:
    return view.positions.to_features((view.gradient() * (view.inputs - view.baseline())).sum(-1))


def sound(**facts: Any) -> None:
    @method(**{"cite": "here", "signed": True, **facts})
    def subject(game: Game) -> Any:
        """Score by what a feature's absence takes away."""
        return drops(game)


def of_a_gradient(change: Callable[[GradientView, Any], Any], **facts: Any) -> None:
    @method(**{"cite": "here", "signed": True, **facts})
    def subject(view: GradientView) -> Any:
        """Score by gradients."""
        return change(view, shares(view))


def changed(change: Callable[[Game, Any], Any], **facts: Any) -> None:
    @method(**{"cite": "here", "signed": True, **facts})
    def subject(game: Game) -> Any:
        """Score by what a feature's absence takes away."""
        return change(game, drops(game))


def settings_parse_back() -> None:
    @method(cite="here", signed=True)
    def subject(game: Game, *, share: float = 1) -> Any:
        """Score by what a feature's absence takes away."""
        return share * drops(game)


def it_says_what_it_is() -> None:
    @method(cite="here", signed=True)
    def subject(game: Game) -> Any:
        """Score somehow"""
        return drops(game)


def scores_have_a_row_per_target_and_a_column_per_feature() -> None:
    title = "scores_have_a_row_per_target_and_a_column_per_feature"
    changed(lambda _game, scores: scores[:1] if inside(title) else scores)


def something_is_scored() -> None:
    changed(lambda game, scores: 0 * (game.full[0] + scores[:1]), class_specific=False)


def unsigned_scores_are_not_negative() -> None:
    sound(signed=False)


def rows_of_targets_differ() -> None:
    changed(lambda game, scores: np.tile(np.arange(1.0, game.n_features + 1), (len(scores), 1)) * bool(scores.any()))


def the_same_call_gives_the_same_bytes() -> None:
    changed(lambda _game, scores: scores + 1e-6 * inside("the_same_call_gives_the_same_bytes"))


def the_seed_decides() -> None:
    @method(cite="here", signed=True)
    def subject(game: Game, *, seed: int = 0) -> Any:  # noqa: ARG001  that is what is wrong with it
        """Score by what a feature's absence takes away."""
        return drops(game)


def batches_do_not_matter() -> None:
    of_a_gradient(lambda view, scores: scores * view.row_limit)


def a_target_has_the_row_that_it_would_have_alone() -> None:
    changed(lambda game, scores: scores / game.n_targets)


def odd_inputs_have_finite_scores() -> None:
    changed(lambda game, scores: scores / (game.n_features != 28))  # as many as the text of markup has


def inputs_of_every_shape_have_finite_scores() -> None:
    changed(lambda game, scores: scores / (game.n_features != 90))  # as many as the long text has


def every_unit_is_explained() -> None:
    changed(lambda _game, scores: scores / (not inside("every_unit_is_explained")))


def scores_of_every_kind_are_explained_or_refused_as_declared() -> None:
    title = "scores_of_every_kind_are_explained_or_refused_as_declared"
    changed(lambda game, scores: scores / (not (inside(title) and game.full.max() < 0)))  # as log-probabilities are


def complete_scores_state_the_gap_by_which_they_miss() -> None:
    of_a_gradient(lambda _view, scores: Scores(scores, gap=np.zeros(len(scores))), complete=True)


def no_gap_is_stated_where_none_is_promised() -> None:
    changed(lambda game, scores: game.complete(scores))


def a_game_is_asked_in_masks_and_scored_by_target_and_feature() -> None:
    def asked_in_numbers(game: Game, scores: Any) -> Any:
        title = "a_game_is_asked_in_masks_and_scored_by_target_and_feature"
        return game(np.eye(game.n_features)).T if inside(title) else scores  # type: ignore[arg-type]

    changed(asked_in_numbers)


def a_game_in_which_nothing_counts_scores_nothing() -> None:
    changed(lambda game, scores: scores + (game.full == game.empty)[:, None])


def the_gap_of_a_game_is_the_true_one() -> None:
    def lying(game: Game, scores: Any) -> Any:
        found = game.complete(scores)
        return Scores(found.values, gap=found.gap + (game.n_features == 6))

    changed(lying, complete=True)


def half_precision_is_explained_as_it_is() -> None:
    of_a_gradient(lambda view, scores: scores / (view.inputs.dtype != torch.bfloat16))


def a_model_in_training_is_left_as_it_was() -> None:
    changed(lambda _game, scores: scores + 0 * float(torch.rand(1)))  # draws from the user's own generator


def training_mode_does_not_change_the_scores() -> None:
    changed(lambda _game, scores: scores * (2 if inside("in_training") else 1))


def a_model_is_left_as_it_was_after_an_error_midway() -> None:
    @method(cite="here", signed=True)
    def subject(game: Game) -> Any:
        """Score by what a feature's absence takes away."""
        if inside("a_model_is_left_as_it_was_after_an_error_midway"):
            torch.rand(1)
        return drops(game)


def it_works_inside_inference_mode() -> None:
    changed(lambda _game, scores: scores * (2 if inside("it_works_inside_inference_mode") else 1))


def it_works_inside_no_grad() -> None:
    changed(lambda _game, scores: scores * (2 if inside("it_works_inside_no_grad") else 1))


ALONE = [
    settings_parse_back,
    it_says_what_it_is,
    scores_have_a_row_per_target_and_a_column_per_feature,
    something_is_scored,
    unsigned_scores_are_not_negative,
    rows_of_targets_differ,
    the_same_call_gives_the_same_bytes,
    the_seed_decides,
    batches_do_not_matter,
    a_target_has_the_row_that_it_would_have_alone,
    inputs_of_every_shape_have_finite_scores,
    odd_inputs_have_finite_scores,
    every_unit_is_explained,
    scores_of_every_kind_are_explained_or_refused_as_declared,
    complete_scores_state_the_gap_by_which_they_miss,
    no_gap_is_stated_where_none_is_promised,
    a_game_is_asked_in_masks_and_scored_by_target_and_feature,
    a_game_in_which_nothing_counts_scores_nothing,
    the_gap_of_a_game_is_the_true_one,
    half_precision_is_explained_as_it_is,
    a_model_in_training_is_left_as_it_was,
    training_mode_does_not_change_the_scores,
    a_model_is_left_as_it_was_after_an_error_midway,
    it_works_inside_inference_mode,
    it_works_inside_no_grad,
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # dividing by 0 is how they break
@pytest.mark.parametrize("broken", ALONE)
def test_a_broken_promise_is_seen(broken: Callable[[], None]) -> None:
    broken()
    checks = list(method_checks("subject"))
    number = [title for title, _ in checks].index(broken.__name__)
    failure(checks[number - 1][1])  # what two checks share is made by the first of them
    assert failure(checks[number][1]) is not None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("broken", ALONE)
def test_no_other_promise_is_said_to_be_broken(broken: Callable[[], None]) -> None:
    broken()
    assert failing(method_checks("subject")) == {broken.__name__}


def test_what_does_not_work_at_all_says_why() -> None:
    @method(cite="here", signed=True)
    def subject(view: Unseen) -> Any:
        """See."""
        return view

    assert "it_works_with_the_classifier" in failing(method_checks("subject"))
    with pytest.raises(AssertionError, match="'subject' needs Unseen, and a Hugging Face classifier gives none"):
        check_method(subject)


def test_every_check_has_a_broken_method() -> None:
    sound(complete=True)
    of_games = {title for title, _ in method_checks("subject")}
    elsewhere = {"it_works_with_the_classifier"}
    assert of_games <= {broken.__name__ for broken in ALONE} | elsewhere


def test_a_sound_method_passes_by_name_and_as_a_function() -> None:
    @method(cite="here", signed=True)
    def subject(game: Game) -> Any:
        """Score by what a feature's absence takes away."""
        return drops(game)

    check_method("subject")
    check_method(subject)


def test_all_broken_promises_are_told_at_once_and_what_a_plug_in_raises_is_one() -> None:
    @method(cite="here", signed=True)
    def subject(game: Game) -> Any:
        """Fail"""
        raise KeyError(game.n_features)

    with pytest.raises(
        AssertionError, match=r"'subject' breaks \d+ of \d+ promises:\n- it_says_what_it_is: "
    ) as caught:
        check_method(subject)
    assert "it raised KeyError: 10" in str(caught.value)


def test_a_function_that_is_not_registered_is_refused_with_what_would_work() -> None:
    def stray(game: Game) -> Any:
        return drops(game)

    with pytest.raises(SettingError, match=r"'stray' is no registered method: decorate it with @method\(\.\.\.\)"):
        check_method(stray)
