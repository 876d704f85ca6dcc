"""What every method promises, in a line: `check_method("my_method")`.

Scores are checked where they stand, what they sum to and what they do not depend on (`method_scores`), on games that
are known through and through (`method_games`), and the model and the process are held against what they were before
(`method_surroundings`). Cost: about a hundred explanations by a network of two small layers.
"""

from collections.abc import Iterator

from whylight.core.registry import METHODS, Plugin
from whylight.testing import method_games as games, method_scores as scores, method_surroundings as surroundings
from whylight.testing.method_subject import GivenSettings, MethodSubject
from whylight.testing.running import DECLARED, Check, Named, checks_of, registered, run_checks
from whylight.testing.twins import is_hosted
from whylight.views.classifier import Classifier
from whylight.views.game import Game


def check_method(
    method: str | Plugin, *, classifier: Classifier | None = None, settings: GivenSettings | None = None
) -> None:
    """Check that a method keeps every promise of its kind.

    Args:
        method: Its name, or the function that is decorated with `@method`.
        classifier: What it is to explain: any classifier of texts or pictures. By default a tiny transformer with three
            labels.
        settings: Settings to run it with, e.g. fewer samples than its default; a function from a classifier to them for
            a method that is fitted to one, because copies of the classifier are explained too.

    Raises:
        AssertionError: With one sentence per promise that it breaks.
    """
    name = method if isinstance(method, str) else method.__name__
    run_checks(name, method_checks(method, classifier=classifier, settings=settings))


def method_checks(
    method: str | Plugin, *, classifier: Classifier | None = None, settings: GivenSettings | None = None
) -> Iterator[Named]:
    """Yield the checks of `check_method` one by one, as (name, function without arguments).

    Args:
        method: As for `check_method`.
        classifier: As for `check_method`.
        settings: As for `check_method`.
    """
    return checks_of(
        METHOD_CHECKS, MethodSubject(registered(METHODS, method), classifier, {} if settings is None else settings)
    )


def _on_a_model(subject: MethodSubject) -> bool:
    return subject.given is None or is_hosted(subject.given)


def _of_games(subject: MethodSubject) -> bool:
    return subject.spec.consumes == (Game,)


def _declares_completeness(subject: MethodSubject) -> bool:
    return bool(subject.spec.facts["complete"])


METHOD_CHECKS: tuple[Check[MethodSubject], ...] = (
    *DECLARED,
    Check(scores.it_works_with_the_classifier),
    Check(scores.scores_have_a_row_per_target_and_a_column_per_feature),
    Check(scores.something_is_scored),
    Check(scores.unsigned_scores_are_not_negative, lambda one: not one.spec.facts["signed"]),
    Check(scores.rows_of_targets_differ, lambda one: bool(one.spec.facts["class_specific"])),
    Check(scores.the_same_call_gives_the_same_bytes),
    Check(scores.the_seed_decides, lambda one: "seed" in one.spec.settings),
    Check(scores.batches_do_not_matter, _on_a_model),
    Check(scores.a_target_has_the_row_that_it_would_have_alone),
    Check(scores.inputs_of_every_shape_have_finite_scores),
    Check(scores.odd_inputs_have_finite_scores),
    Check(scores.every_unit_is_explained),
    Check(scores.scores_of_every_kind_are_explained_or_refused_as_declared),
    Check(scores.complete_scores_state_the_gap_by_which_they_miss, _declares_completeness),
    Check(scores.no_gap_is_stated_where_none_is_promised, lambda one: not _declares_completeness(one)),
    Check(games.a_game_is_asked_in_masks_and_scored_by_target_and_feature, _of_games),
    Check(games.a_game_in_which_nothing_counts_scores_nothing, _of_games),
    Check(games.the_gap_of_a_game_is_the_true_one, lambda one: _of_games(one) and _declares_completeness(one)),
    Check(surroundings.half_precision_is_explained_as_it_is, _on_a_model),
    Check(surroundings.a_model_in_training_is_left_as_it_was, _on_a_model),
    Check(surroundings.training_mode_does_not_change_the_scores, _on_a_model),
    Check(surroundings.a_model_is_left_as_it_was_after_an_error_midway, _on_a_model),
    Check(surroundings.it_works_inside_inference_mode),
    Check(surroundings.it_works_inside_no_grad),
)
