"""Every check of metrics and removers fails for one that breaks its promise, and for no other reason."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from breaking import failing, inside

from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.rationale import Rationale
from whylight.core.registry import metric, remover
from whylight.testing import Untouched, check_metric, check_remover, metric_checks, remover_checks
from whylight.testing.running import DECLARED
from whylight.views.batch import Variants
from whylight.views.game import Game
from whylight.views.texts import TextBatch, TextWindow
from whylight.views.tokens import TokenWindow

ABOVE = {one.function.__name__ for one in DECLARED}
"""Checks that are the same for every kind of plug-in; `test_broken_methods.py` breaks them."""


def without_the_best(explanation: Explanation, game: Game) -> Floats:
    """How far the score falls without the feature that is ranked first."""
    rows = np.stack([explanation.row(target) for target in explanation.targets])
    if not rows.shape[1]:
        return np.full(len(rows), np.nan)
    keep = np.ones((len(rows), rows.shape[1]), dtype=bool)
    keep[np.arange(len(rows)), rows.argmax(axis=1)] = False
    return np.asarray(game.full - np.diagonal(game(keep)))


def of_a_game(change: Callable[[Explanation, Floats], Any], **facts: Any) -> None:
    @metric(**{"cite": "here", "higher_is_better": True, **facts})
    def subject(explanation: Explanation, game: Game) -> Any:
        """Measure the drop without the best feature."""
        return change(explanation, without_the_best(explanation, game))


def alone(change: Callable[[Explanation], Any]) -> None:
    @metric(cite="here", higher_is_better=True)
    def subject(explanation: Explanation) -> Any:
        """Measure something of the scores."""
        return change(explanation)


def it_consumes_an_explanation_and_at_most_one_piece_of_evidence() -> None:
    @metric(cite="here", higher_is_better=True)
    def subject(explanation: Explanation, game: Game, _other: Game = None) -> Any:  # type: ignore[assignment]
        """Measure the drop without the best feature."""
        return without_the_best(explanation, game)


def it_declares_a_direction() -> None:
    of_a_game(lambda _explanation, values: values, higher_is_better="yes")


def there_is_one_finite_number_per_target() -> None:
    title = "there_is_one_finite_number_per_target"
    of_a_game(lambda _explanation, values: values.astype(np.float32) if inside(title) else values)


def targets_that_share_a_row_have_a_number_each() -> None:
    alone(lambda explanation: 2 * explanation.scores.sum(axis=1))


def a_target_has_the_number_that_it_would_have_alone() -> None:
    of_a_game(lambda _explanation, values: values * (1 + np.arange(len(values))))


def measuring_again_gives_the_same_bytes() -> None:
    calls: list[None] = []

    def counted(_explanation: Explanation, values: Floats) -> Floats:
        calls.append(None)
        return values + 1e-15 * len(calls)

    of_a_game(counted)


def the_explanation_is_not_changed() -> None:
    def handed_back(one: Explanation) -> Any:
        if not one.scores.size:
            return np.full(len(one.targets), np.nan)
        return one.scores[:, 0] if one.provenance.class_specific else np.repeat(one.scores[:, 0], len(one.targets))

    alone(handed_back)


def odd_scores_give_a_number_or_nan_and_no_warning() -> None:
    def logarithm(one: Explanation) -> Any:
        rows = np.stack([one.row(target) for target in one.targets])
        return np.log(np.abs(rows.sum(axis=1))) if rows.size else np.full(len(rows), np.nan)

    alone(logarithm)


def no_features_give_a_number_or_nan() -> None:
    alone(lambda one: np.asarray([one.row(target).max() for target in one.targets]))


def scores_without_signs_give_no_number_and_it_says_so() -> None:
    of_a_game(lambda _explanation, values: values, signed=True)


def held_against(explanation: Explanation, rationale: Rationale) -> float:
    gold = explanation.example.marks(rationale.places, explanation.places)
    return float(explanation.scores[0, gold].sum() > explanation.scores[0, ~gold].sum())


def without_gold_there_is_no_number_and_it_says_so() -> None:
    @metric(cite="here", higher_is_better=True)
    def subject(explanation: Explanation, rationale: Rationale) -> Any:
        """Count what is gold among the best."""
        if len(explanation.scores) > 1:
            raise SettingError("a rationale is of one label.")
        return np.asarray([held_against(explanation, rationale)])


def a_rationale_is_held_against_one_label() -> None:
    @metric(cite="here", higher_is_better=True)
    def subject(explanation: Explanation, rationale: Rationale) -> Any:
        """Count what is gold among the best (nan without gold features)."""
        return np.asarray([held_against(explanation, rationale) if rationale.places else np.nan])


def the_better_explanation_measures_better() -> None:
    of_a_game(lambda _explanation, values: values, higher_is_better=False)


METRICS_BROKEN = [
    it_consumes_an_explanation_and_at_most_one_piece_of_evidence,
    it_declares_a_direction,
    there_is_one_finite_number_per_target,
    targets_that_share_a_row_have_a_number_each,
    a_target_has_the_number_that_it_would_have_alone,
    measuring_again_gives_the_same_bytes,
    the_explanation_is_not_changed,
    odd_scores_give_a_number_or_nan_and_no_warning,
    no_features_give_a_number_or_nan,
    scores_without_signs_give_no_number_and_it_says_so,
    without_gold_there_is_no_number_and_it_says_so,
    a_rationale_is_held_against_one_label,
    the_better_explanation_measures_better,
]


@pytest.mark.parametrize("broken", METRICS_BROKEN)
def test_a_broken_promise_of_a_metric_is_seen_and_no_other(broken: Callable[[], None]) -> None:
    broken()
    assert failing(metric_checks("subject")) == {broken.__name__}


def test_every_check_of_metrics_has_a_broken_one_and_a_sound_one_passes() -> None:
    of_a_game(lambda _explanation, values: values)
    check_metric("subject")
    every = {title for name in ("subject", "iou", "sign_change") for title, _ in metric_checks(name)}
    assert every == {broken.__name__ for broken in METRICS_BROKEN} | ABOVE


def masked(window: TokenWindow, keep: Bools) -> Any:
    return np.where(window.kept(keep), window.ids, window.replacements["mask"])


def of_tokens(change: Callable[[TokenWindow, Bools, Any], Any], **facts: Any) -> None:
    @remover(**facts)
    def subject(window: TokenWindow, keep: Bools) -> Variants:
        """Put the mask token in the place of removed words."""
        found = change(window, keep, masked(window, keep))
        return found if isinstance(found, Variants) else Variants(window.rows(found))


def keeping_all_is_the_identity() -> None:
    of_tokens(lambda _window, keep, ids: np.where(keep.all(axis=1)[:, None], 7, ids))


def each_coalition_has_as_many_rows_as_it_has_weights() -> None:
    of_tokens(
        lambda window, keep, ids: Variants(window.rows(np.repeat(ids, 2, axis=0)), np.ones((len(keep), 2))), draws=True
    )


def keeping_none_leaves_no_content() -> None:
    of_tokens(lambda window, keep, ids: np.where(keep.any(axis=1)[:, None], ids, window.ids))


def what_is_kept_stays_as_it_is() -> None:
    def special(window: TokenWindow, keep: Bools, ids: Any) -> Any:
        first = np.arange(len(window.ids)) == 0
        return np.where(first & ~keep.all(axis=1)[:, None], window.replacements["mask"], ids)

    of_tokens(special)


def nothing_that_comes_in_is_changed() -> None:
    def written(_window: TokenWindow, keep: Bools, ids: Any) -> Any:
        keep[:] |= inside("nothing_that_comes_in_is_changed")
        return ids

    of_tokens(written)


def rows_do_not_depend_on_each_other() -> None:
    def by_number(window: TokenWindow, keep: Bools, ids: Any) -> Any:
        odd = np.arange(len(keep))[:, None] % 2
        return np.where(window.kept(keep), ids, ids + odd)

    of_tokens(by_number)


REMOVERS_BROKEN = [
    keeping_all_is_the_identity,
    each_coalition_has_as_many_rows_as_it_has_weights,
    keeping_none_leaves_no_content,
    what_is_kept_stays_as_it_is,
    nothing_that_comes_in_is_changed,
    rows_do_not_depend_on_each_other,
]


@pytest.mark.parametrize("broken", REMOVERS_BROKEN)
def test_a_broken_promise_of_a_remover_is_seen_and_no_other(broken: Callable[[], None]) -> None:
    broken()
    assert failing(remover_checks("subject")) == {broken.__name__}


def test_every_check_of_removers_has_a_broken_one_and_a_sound_one_passes() -> None:
    of_tokens(lambda _window, _keep, ids: ids)
    check_remover("subject")
    every = {title for title, _ in remover_checks("subject")}
    assert every == {broken.__name__ for broken in REMOVERS_BROKEN} | ABOVE


def test_weighted_draws_that_sum_to_one_are_sound() -> None:
    def twice(window: TokenWindow, keep: Bools, ids: Any) -> Variants:
        other = np.where(window.kept(keep), ids, ids + 1)
        rows = np.stack([ids, other], axis=1).reshape(-1, ids.shape[1])
        return Variants(window.rows(rows), np.tile([0.25, 0.75], (len(keep), 1)))

    of_tokens(twice, draws=True)
    check_remover("subject")


@pytest.mark.parametrize(
    ("made", "title"),
    [
        (lambda window, row: "" if row.all() else window.text, "keeping_all_is_the_identity"),
        (lambda window, row: window.text if row.all() else window.text[::-1], "what_is_kept_stays_as_it_is"),
        (lambda window, row: window.text if row.any() else "the rest", "keeping_none_leaves_no_content"),
    ],
)
def test_removers_of_plain_text_are_held_to_the_same_laws(made: Callable[..., str], title: str) -> None:
    @remover()
    def subject(window: TextWindow, keep: Bools) -> Variants:
        """Make another text."""
        return Variants(TextBatch(tuple(made(window, row) for row in keep)))

    assert title in failing(remover_checks("subject"))


def test_windows_of_another_kind_are_given_or_asked_for() -> None:
    @remover()
    def subject(window: Untouched, keep: Bools) -> Variants:
        """Remove nothing."""
        return Variants(window.row.take(np.zeros(len(keep), dtype=int)))

    with pytest.raises(AssertionError, match=r"must be checked with windows=\[Untouched\(\.\.\.\)\] of that kind"):
        check_remover(subject)
