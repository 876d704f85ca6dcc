"""What a method promises of its scores: where they stand, what they sum to, and what they do not depend on."""

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.errors import IncompatibleError
from whylight.core.labels import Target
from whylight.explaining.explain import explain
from whylight.perturb.binding import bound
from whylight.testing.inputs import as_input
from whylight.testing.method_subject import MethodSubject
from whylight.testing.running import promise
from whylight.testing.twins import hosted
from whylight.views.classifier import Request, game_of

ROUNDING = 2e-5
"""Two scores are the same if they differ by this share of the largest."""


def it_works_with_the_classifier(subject: MethodSubject) -> None:
    """Other checks can only speak of a method that works."""
    subject.require_that_it_works(subject.classifier)


def scores_have_a_row_per_target_and_a_column_per_feature(subject: MethodSubject) -> None:
    """Also where the targets share a row."""
    found = subject.explanation
    own = found.provenance.class_specific
    expected = (len(found.targets) if own else 1, len(found.places))
    promise(found.scores.shape == expected, f"scores must be of shape {expected}, not {found.scores.shape}.")
    promise(own or not subject.spec.facts["class_specific"], "a class-specific method must have a row per target.")


def something_is_scored(subject: MethodSubject) -> None:
    """Scores of an ordinary input are not all zero."""
    found = np.any(subject.explanation.scores)
    promise(found, f"some feature of {subject.inputs.ordinary!r} must get a score other than 0; all are 0.")


def unsigned_scores_are_not_negative(subject: MethodSubject) -> None:
    """What declares no sign has none."""
    least = float(subject.explanation.scores.min())
    promise(least >= 0, f"the method declares signed=False, so no score may be negative; one is {least:g}.")
    promise(not subject.explanation.provenance.signed, "the receipt must say that the scores have no sign.")


def rows_of_targets_differ(subject: MethodSubject) -> None:
    """What declares a row per target has something to say about each."""
    rows = {row.tobytes() for row in subject.explanation.scores}
    expected = len(subject.explanation.targets)
    apart = len(rows) == expected
    promise(apart, f"a class-specific method must tell {expected} targets apart; it has {len(rows)} different rows.")


def the_same_call_gives_the_same_bytes(subject: MethodSubject) -> None:
    """Whoever draws takes a seed, and makes a generator of its own."""
    again = subject.explain(subject.inputs.ordinary, target="all")
    same = again.scores.tobytes() == subject.explanation.scores.tobytes()
    apart = float(np.abs(again.scores - subject.explanation.scores).max())
    promise(same, f"the same call must give the same bytes; scores differ by {apart:g}.")


def the_seed_decides(subject: MethodSubject) -> None:
    """Another seed gives other numbers, and the same seed the same."""
    one, again, other = (
        subject.explain(subject.inputs.repeated, target=0, seed=seed).scores.tobytes() for seed in (1, 1, 2)
    )
    promise(one == again, "the same seed must give the same scores.")
    promise(one != other, "another seed must give other scores; seeds 1 and 2 give the same.")


def batches_do_not_matter(subject: MethodSubject) -> None:
    """Rows through the model one by one, or all at once."""
    engine = hosted(subject.classifier).engine
    before, engine.budget = engine.budget, 1
    try:
        one_by_one = subject.explain(subject.inputs.ordinary, target="all")
    finally:
        engine.budget = before
    apart = float(np.abs(one_by_one.scores - subject.explanation.scores).max())
    close = apart <= ROUNDING * float(np.abs(one_by_one.scores).max())
    promise(close, f"scores must not depend on how many rows share a batch; they differ by {apart:g}.")


def a_target_has_the_row_that_it_would_have_alone(subject: MethodSubject) -> None:
    """Which other labels are asked about does not matter; unless scores are not of the model at all."""
    if not subject.asks:
        promise(not subject.spec.facts["complete"], "a method that never looks at the model cannot be complete.")
        return
    for target in subject.explanation.targets:
        alone = subject.explain(subject.inputs.ordinary, target=target.index).scores[0]
        apart = float(np.abs(subject.explanation.row(target) - alone).max())
        size = float(np.abs(alone).max())
        close = apart <= ROUNDING * size
        promise(close, f"label {target.index} must have the scores that it has alone; they differ by {apart:g}.")


def inputs_of_every_shape_have_finite_scores(subject: MethodSubject) -> None:
    """One feature, one without a token, two texts, several windows; pictures with a ramp or a gap."""
    for name, given in subject.inputs.shapes.items():
        _is_finite(subject, name, given)


def odd_inputs_have_finite_scores(subject: MethodSubject) -> None:
    """Emoji, control characters, markup, special tokens that a user typed; pictures of one colour."""
    for name, given in subject.inputs.odd.items():
        _is_finite(subject, name, given)


def every_unit_is_explained(subject: MethodSubject) -> None:
    """Words, tokens and sentences; pixels and patches."""
    for unit in subject.inputs.units:
        found = subject.explain(subject.inputs.several, unit=unit, target=0)
        promise(found.provenance.unit == unit, f"the receipt must say that features are {unit}s.")
        promise(np.isfinite(found.scores).all(), f"scores of {unit}s must be finite numbers.")


def scores_of_every_kind_are_explained_or_refused_as_declared(subject: MethodSubject) -> None:
    """The scores that a method declares are the ones that it explains; all, where it declares none."""
    declared = subject.spec.facts["scores"]
    for space in subject.classifier.score_spaces:
        if declared and space not in declared:
            promise(_refused(subject, space), f"the method declares {declared}, so '{space}' must be refused.")
        else:
            found = subject.explain(subject.inputs.ordinary, score=space, target=0)
            promise(np.isfinite(found.scores).all(), f"scores of '{space}' must be finite numbers.")


def complete_scores_state_the_gap_by_which_they_miss(subject: MethodSubject) -> None:
    """Sum of scores - gap = score(input) - score(nothing); or next to no gap, where the logit itself is split."""
    found = subject.explanation
    gap = found.provenance.completeness_gap
    if gap is None or len(gap) != len(found.scores):
        raise AssertionError("a complete method must return Scores with a gap per row; use the view's `complete`.")
    if subject.spec.facts["scores"] == ("logit",):
        small = np.abs(gap) <= ROUNDING * np.abs(found.scores).sum()
        promise(small.all(), f"parts of the logit must add up to it; they miss it by {np.abs(gap).max():g}.")
        return
    nothing = str(found.provenance.settings.get("baseline", subject.classifier.removers[0]))
    expected = _difference(subject, nothing)
    apart = float(np.abs(found.scores.sum(axis=1) - gap - expected).max())
    close = apart <= ROUNDING * max(1.0, float(np.abs(expected).max()))
    promise(close, f"scores minus gap must sum to score(input) - score({nothing} of it); they miss it by {apart:g}.")


def no_gap_is_stated_where_none_is_promised(subject: MethodSubject) -> None:
    """A gap in the receipt means that the method declares completeness."""
    gap = subject.explanation.provenance.completeness_gap
    promise(gap is None, f"the method does not declare complete=True, so that it must state no gap; it states {gap}.")


def _is_finite(subject: MethodSubject, name: str, given: object) -> None:
    found = subject.explain(given, target=0)
    promise(np.isfinite(found.scores).all(), f"scores of {given!r} ({name}) must be finite numbers.")
    rows = found.scores.shape
    promise(rows == (1, len(found.places)), f"{given!r} has {len(found.places)} features, and scores {rows}.")


def _refused(subject: MethodSubject, space: str) -> bool:
    try:
        explain(subject.classifier, subject.inputs.ordinary, method=subject.spec.name, score=space, progress=False)
    except IncompatibleError:
        return True
    return False


def _difference(subject: MethodSubject, nothing: str) -> Floats:
    """Return how far the scores of all labels fall if all features of the ordinary input are removed, `[labels]`."""
    classifier = subject.classifier
    encoded = classifier.encode(as_input(subject.inputs.ordinary), unit=subject.inputs.units[0], long="window")
    targets = tuple(Target(i, name) for i, name in enumerate(classifier.labels.names))
    game = game_of(classifier, encoded, Request(targets, classifier.score_spaces[0], removal=bound(nothing)))
    return game.full - game.empty
