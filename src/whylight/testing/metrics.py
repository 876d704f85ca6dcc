"""What every metric promises, in a line: `check_metric("my_metric")`.

A metric gets explanations, games and rationales of three words that are known through and through. Cost: none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.errors import WhylightError
from whylight.core.explanation import Explanation
from whylight.core.marked import is_corpus_metric
from whylight.core.rationale import Rationale
from whylight.core.registry import METRICS, Plugin, Spec
from whylight.testing.corpus_metrics import CORPUS_METRIC_CHECKS, CorpusMetricSubject
from whylight.testing.explanations import words_explained, words_marked
from whylight.testing.games import additive_game
from whylight.testing.running import (
    DECLARED,
    Check,
    Named,
    checks_of,
    promise,
    registered,
    run_checks,
    without_warnings,
)
from whylight.views.game import Game

EVIDENCE = (Game, Rationale, Explanation)
"""What a metric may hold an explanation against."""
WORDS = ("good", "film", "!")
SCORES: tuple[tuple[float, ...], ...] = ((0.6, 0.1, 0.3), (-0.2, 0.5, 0.4))
ODD_SCORES: tuple[tuple[float, ...], ...] = ((0.0, 0.0, 0.0), (-1.0, -2.0, -3.0), (1.0,), (0.0,), (1e-300, 1e300, 0.0))
BOUNDARY = 0.3
"""Of the metrics that need one: it is tuned in a run, and has no default."""
BETTER = np.asarray([[3.0, 1.0, 2.0]])
"""What the words of the best explanation are worth; the worst has the opposite signs."""
ROUNDED = 1e-12


@dataclass(frozen=True, eq=False)
class MetricSubject:
    """A metric.

    Attributes:
        spec: The metric.
        settings: Settings that it is run with.
    """

    spec: Spec
    settings: Mapping[str, object]

    def consumes(self, kind: type) -> bool:
        """Say whether it holds explanations against a kind of evidence."""
        return kind in self.spec.consumes[1:]

    def measure(self, explained: Explanation, evidence: tuple[Any, ...]) -> Floats:
        """Measure an explanation; a warning breaks a promise."""
        given = {"boundary": BOUNDARY, **self.settings} if "boundary" in self.spec.settings else self.settings
        with without_warnings():
            return np.asarray(self.spec.function(explained, *evidence, **self.spec.complete_settings(given)))

    def case(self, rows: Any, *, gold: tuple[int, ...] = (0,)) -> tuple[Explanation, tuple[Any, ...]]:  # noqa: ANN401
        """Return an explanation by these scores and evidence for it; a rationale is of one label."""
        scores = np.atleast_2d(np.asarray(rows, dtype=np.float64))
        scores = scores[:1] if self.consumes(Rationale) else scores
        words = WORDS[: scores.shape[1]]
        made = words_explained(scores, words)
        worth = np.linspace(0.5, 2.0, scores.size).reshape(scores.shape)
        evidence = {
            Game: additive_game(worth, squashed=True),
            Rationale: words_marked(made, gold),
            Explanation: words_explained(scores[:, ::-1] + 0.1, words),
        }
        return made, tuple(evidence[kind] for kind in self.spec.consumes[1:])


def check_metric(metric: str | Plugin, *, settings: Mapping[str, object] | None = None) -> None:
    """Check that a metric keeps every promise of its kind.

    Args:
        metric: Its name, or the function that is decorated with `@metric`.
        settings: Settings to run it with.

    Raises:
        AssertionError: With one sentence per promise that it breaks.
    """
    name = metric if isinstance(metric, str) else metric.__name__
    run_checks(name, metric_checks(metric, settings=settings))


def metric_checks(metric: str | Plugin, *, settings: Mapping[str, object] | None = None) -> Iterator[Named]:
    """Yield the checks of `check_metric` one by one, as (name, function without arguments).

    Args:
        metric: As for `check_metric`.
        settings: As for `check_metric`.
    """
    spec = registered(METRICS, metric)
    if is_corpus_metric(spec):
        return checks_of(CORPUS_METRIC_CHECKS, CorpusMetricSubject(spec, settings or {}))
    return checks_of(METRIC_CHECKS, MetricSubject(spec, settings or {}))


def it_consumes_an_explanation_and_at_most_one_piece_of_evidence(subject: MetricSubject) -> None:
    """By the types of its positional parameters."""
    first, *others = subject.spec.consumes
    known = first is Explanation and len(others) <= 1 and set(others) <= set(EVIDENCE)
    kinds = [getattr(kind, "__name__", str(kind)) for kind in subject.spec.consumes]
    promise(known, f"a metric takes an Explanation and one Game, Rationale or Explanation at most, not {kinds}.")


def it_declares_a_direction(subject: MetricSubject) -> None:
    """Whether more is better is True or False, and somebody is cited for it."""
    declared = subject.spec.facts["higher_is_better"]
    promise(isinstance(declared, bool), f"higher_is_better must be True or False, not {declared!r}.")
    promise(subject.spec.facts["cite"], "a metric must name the paper that defines it.")


def there_is_one_finite_number_per_target(subject: MetricSubject) -> None:
    """Of an ordinary explanation."""
    made, evidence = subject.case(SCORES)
    _one_per_target(subject.measure(made, evidence), len(made.targets))


def targets_that_share_a_row_have_a_number_each(subject: MetricSubject) -> None:
    """An explanation that is not class-specific has one row for all of its targets."""
    made, evidence = subject.case(SCORES)
    shared = words_explained(made.scores[:1], WORDS, targets=len(made.targets))
    _one_per_target(subject.measure(shared, evidence), len(made.targets))


def a_target_has_the_number_that_it_would_have_alone(subject: MetricSubject) -> None:
    """Which other labels were explained does not matter."""
    made, evidence = subject.case(SCORES)
    other, swapped = subject.case(SCORES[::-1])
    if subject.consumes(Game):
        worth = np.linspace(0.5, 2.0, made.scores.size).reshape(made.scores.shape)
        swapped = (additive_game(worth[::-1], squashed=True),)
    first, second = subject.measure(made, evidence), subject.measure(other, swapped)
    promise(
        _same(first, second[::-1]), f"targets in another order must have the same numbers; {first} became {second}."
    )


def measuring_again_gives_the_same_bytes(subject: MetricSubject) -> None:
    """Nothing is drawn without a seed, and nothing is remembered."""
    made, evidence = subject.case(SCORES)
    first, second = subject.measure(made, evidence), subject.measure(made, evidence)
    promise(first.tobytes() == second.tobytes(), f"the same call must give the same bytes, not {first} and {second}.")


def the_explanation_is_not_changed(subject: MetricSubject) -> None:
    """Nor is it handed back."""
    made, evidence = subject.case(SCORES)
    before = made.scores.copy()
    values = subject.measure(made, evidence)
    promise((made.scores == before).all(), "a metric must not change the scores that it is given; it did.")
    promise(
        not np.shares_memory(values, made.scores), "a metric must return numbers of its own, not those it is given."
    )


def odd_scores_give_a_number_or_nan_and_no_warning(subject: MetricSubject) -> None:
    """All zero, all negative, one word, and numbers at the ends of what there is."""
    for scores in ODD_SCORES:
        _number_or_nan(subject.measure(*subject.case(scores)), f"scores {scores}")


def no_features_give_a_number_or_nan(subject: MetricSubject) -> None:
    """An explanation of nothing."""
    _number_or_nan(subject.measure(*subject.case(np.zeros((1, 0)), gold=())), "an explanation of no feature")


def scores_without_signs_give_no_number_and_it_says_so(subject: MetricSubject) -> None:
    """Where it declares to be a metric of signed scores."""
    made, evidence = subject.case(SCORES)
    values = subject.measure(replace(made, provenance=replace(made.provenance, signed=False)), evidence)
    promise(np.isnan(values).all(), f"signed=True, yet scores without signs measure {values} and not nan.")
    promise("nan" in subject.spec.summary, "the first line of the docstring must say when the number is nan.")


def without_gold_there_is_no_number_and_it_says_so(subject: MetricSubject) -> None:
    """Plausibility without a marked word is undefined, and not 0."""
    values = subject.measure(*subject.case(SCORES, gold=()))
    promise(np.isnan(values).all(), f"without a gold feature the number must be nan, not {values}.")
    promise("nan" in subject.spec.summary, "the first line of the docstring must say when the number is nan.")


def a_rationale_is_held_against_one_label(subject: MetricSubject) -> None:
    """An explanation with rows of two labels is refused: people marked the reason for one."""
    two = words_explained(np.asarray(SCORES), WORDS)
    try:
        values = subject.measure(two, (words_marked(two, (0,)),))
    except WhylightError:
        return
    raise AssertionError(f"an explanation of two labels must be refused with a SettingError, not measured as {values}.")


def the_better_explanation_measures_better(subject: MetricSubject) -> None:
    """What ranks words as they count is not measured worse than what ranks them the other way round."""
    made = words_explained(BETTER, WORDS)
    evidence: dict[type, Any] = {Game: additive_game(BETTER, squashed=True), Rationale: words_marked(made, (0, 2))}
    right, wrong = (
        float(subject.measure(words_explained(scores, WORDS), (evidence[subject.spec.consumes[1]],))[0])
        for scores in (BETTER, BETTER.max() - BETTER)
    )
    higher = subject.spec.facts["higher_is_better"]
    kept = (right - wrong) * (1 if higher else -1) >= -ROUNDED
    promise(kept, f"higher_is_better={higher}, yet the right ranking measures {right:g} and the reverse {wrong:g}.")


def _one_per_target(values: Floats, n_targets: int) -> None:
    shape = f"{values.dtype} {values.shape}"
    promise(values.shape == (n_targets,), f"there must be one number per target, ({n_targets},), not {shape}.")
    promise(values.dtype == np.float64, f"numbers must be float64, not {shape}.")
    promise(np.isfinite(values).all(), f"of an ordinary explanation the numbers must be finite, not {values}.")


def _number_or_nan(values: Floats, what: str) -> None:
    promise(values.shape == (1,), f"{what} must give one number per target, not {values.shape}.")
    promise(not np.isinf(values).any(), f"{what} must give a finite number or nan, not {values}.")


def _same(first: Floats, second: Floats) -> bool:
    return first.shape == second.shape and bool(np.allclose(first, second, rtol=0, atol=ROUNDED, equal_nan=True))


METRIC_CHECKS: tuple[Check[MetricSubject], ...] = (
    *DECLARED,
    Check(it_consumes_an_explanation_and_at_most_one_piece_of_evidence),
    Check(it_declares_a_direction),
    Check(there_is_one_finite_number_per_target),
    Check(targets_that_share_a_row_have_a_number_each),
    Check(a_target_has_the_number_that_it_would_have_alone, lambda one: not one.consumes(Rationale)),
    Check(measuring_again_gives_the_same_bytes),
    Check(the_explanation_is_not_changed),
    Check(odd_scores_give_a_number_or_nan_and_no_warning),
    Check(no_features_give_a_number_or_nan),
    Check(scores_without_signs_give_no_number_and_it_says_so, lambda one: bool(one.spec.facts["signed"])),
    Check(without_gold_there_is_no_number_and_it_says_so, lambda one: one.consumes(Rationale)),
    Check(a_rationale_is_held_against_one_label, lambda one: one.consumes(Rationale)),
    Check(the_better_explanation_measures_better, lambda one: one.consumes(Game) or one.consumes(Rationale)),
)
