"""What every classifier promises, in a line: `check_classifier(my_classifier)`.

Views of a classifier are views of one function: the game of an untouched input is its prediction, and whatever else it
offers agrees with the game. What is claimed to work works, and the model is left as it was. Cost: each method that
works explains one text, and each view is looked at for some texts more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, cast

import numpy as np
import torch

from whylight.core.arrays import Bools, Floats
from whylight.core.encoded import Encoded
from whylight.core.inputs import Input
from whylight.core.labels import SCORE_SPACES, Target
from whylight.core.registry import METHODS, REMOVERS
from whylight.core.text import Text
from whylight.explaining.case import open_case
from whylight.explaining.compatible import compatible
from whylight.explaining.explain import explain
from whylight.models import heads
from whylight.models.unchanged import unchanged
from whylight.perturb.binding import bound
from whylight.testing.running import Check, Named, checks_of, promise, run_checks
from whylight.testing.snapshot import changed_parts, snapshot
from whylight.testing.texts import ODD, TEXT
from whylight.testing.twins import hosted, is_hosted
from whylight.views.classifier import Classifier, Request, game_of
from whylight.views.game import Game
from whylight.views.gradient import GradientView
from whylight.views.meter import Meter
from whylight.views.soft import SoftGame

CLOSE = 1e-5
"""Two answers are one if they differ by this share of the largest."""
FEW = {"steps": 10, "beam": 2}
"""Settings of methods that search: whether one works shows in the first steps."""


@dataclass(frozen=True, eq=False)
class ClassifierSubject:
    """A classifier and what it is asked about.

    Attributes:
        classifier: The classifier.
        given: Inputs of the kind that it reads; empty for texts.
    """

    classifier: Classifier
    given: Sequence[Input] = field(default=())

    @cached_property
    def inputs(self) -> Sequence[Input]:
        """What it is asked about: an ordinary input first, odd ones after it."""
        if self.given:
            return self.given
        read = self.classifier.reads
        promise(read == Text.kind, f"a classifier of inputs of the kind '{read}' must be checked with inputs=[...].")
        pairs = is_hosted(self.classifier)
        odd = [one for one in ODD.values() if pairs or isinstance(one, str)]
        return [Text(TEXT), *(Text(one) if isinstance(one, str) else Text(*one) for one in odd)]

    @cached_property
    def removers(self) -> Sequence[str]:
        """The removers that leave one variant of each coalition."""
        return [name for name in self.classifier.removers if not REMOVERS[name].facts["draws"]]

    def encode(self, example: Input) -> Encoded:
        """Cut an input into words."""
        return self.classifier.encode(example, unit="word", long="window")

    def request(self, remover: str) -> Request:
        """Ask for all labels, in the classifier's own score."""
        targets = tuple(Target(i, name) for i, name in enumerate(self.classifier.labels.names))
        return Request(targets, self.classifier.score_spaces[0], removal=bound(remover))

    def game(self, encoded: Encoded, remover: str) -> Game:
        """Look at an input as a game."""
        return game_of(self.classifier, encoded, self.request(remover))

    def logits(self, encoded: Encoded, remover: str, keep: Bools, *, columns: Sequence[int] | None = None) -> Floats:
        """Return logits of coalitions, without any memory of earlier ones."""
        ask = self.classifier.outcomes(encoded, removal=bound(remover), cache={}, meter=Meter(), columns=columns)
        return ask(keep)


def check_classifier(classifier: Classifier, *, inputs: Sequence[Input] = ()) -> None:
    """Check that a classifier keeps every promise of its kind.

    Args:
        classifier: The classifier.
        inputs: Some inputs of the kind that it reads, an ordinary one first; by default texts, where it reads texts.

    Raises:
        AssertionError: With one sentence per promise that it breaks.
    """
    run_checks(str(getattr(classifier, "identity", classifier)), classifier_checks(classifier, inputs=inputs))


def classifier_checks(classifier: Classifier, *, inputs: Sequence[Input] = ()) -> Iterator[Named]:
    """Yield the checks of `check_classifier` one by one, as (name, function without arguments).

    Args:
        classifier: As for `check_classifier`.
        inputs: As for `check_classifier`.
    """
    return checks_of(CLASSIFIER_CHECKS, ClassifierSubject(classifier, inputs))


def it_says_what_it_is_and_offers(subject: ClassifierSubject) -> None:
    """All members of the protocol, a game, a remover and a score."""
    one = subject.classifier
    promise(isinstance(one, Classifier), "a classifier must have every member of whylight.views.classifier.Classifier.")
    promise(Game in one.offers, "a classifier must offer a Game; what else it offers is up to it.")
    promise(
        set(one.removers) & set(REMOVERS.names()), f"a classifier must have a registered remover, not {one.removers}."
    )
    known = one.score_spaces and set(one.score_spaces) <= set(SCORE_SPACES)
    promise(known, f"score spaces must be some of {SCORE_SPACES}, not {one.score_spaces}.")


def features_slice_back_and_cover_the_text(subject: ClassifierSubject) -> None:
    """Every character that is no white space belongs to one word, and words stand in reading order."""
    for example in subject.inputs:
        places = subject.encode(example).places
        promise(list(places) == sorted(places), f"features of {example.key!r} must stand in reading order.")
        covered = {(place.part, i) for place in places for i in range(place.start, place.end)}
        texts = cast("Text", example).parts
        expected = {(n, i) for n, text in enumerate(texts) for i, sign in enumerate(text) if not sign.isspace()}
        promise(covered == expected, f"words must cover {example.key!r} but for white space; they do not.")
        overlap = sum(place.end - place.start for place in places) - len(covered)
        promise(overlap == 0, f"words of {example.key!r} must not overlap; {overlap} characters are in two.")


def an_untouched_input_has_the_predicted_scores(subject: ClassifierSubject) -> None:
    """Whatever "removed" means: nothing is."""
    for example in subject.inputs:
        case = open_case(subject.classifier, example)
        keep = np.ones((1, case.encoded.n_features), dtype=bool)
        for remover in subject.removers:
            logits = subject.logits(case.encoded, remover, keep)[0]
            found = logits if case.prediction.values else subject.classifier.labels.probabilities(logits)
            size = max(1.0, float(np.abs(found).max()))  # values of a regression may be of any
            close = np.abs(found - case.prediction.answers).max() <= CLOSE * size
            promise(close, f"{example.key!r} with nothing removed ({remover}) must have its predicted probabilities.")


def answers_are_those_of_a_plain_call(subject: ClassifierSubject) -> None:
    """Of the model itself, on what its own tokenizer returns; a text of several windows has none."""
    own: Any = hosted(subject.classifier)
    keys = getattr(own, "keys", None)
    for example in subject.inputs:
        encoded = subject.encode(example)
        parts = cast("Text", example).parts
        inputs = own.tokenizer(*parts, return_tensors="pt", split_special_tokens=True, verbose=False)
        if len(encoded.windows) > 1 or inputs["input_ids"].shape[1] > own.tokenizer.model_max_length:
            continue
        with unchanged(own.model), torch.inference_mode():
            taken = {name: value for name, value in inputs.items() if keys is None or name in keys}
            expected = heads.columns(own.model(**taken).logits, own.labels.head)[0].double().numpy()
        found = subject.logits(encoded, subject.removers[0], np.ones((1, encoded.n_features), dtype=bool))[0]
        promise(
            _answers_alike(found, expected),
            f"{example.key!r} must have the logits of a plain call, {expected}, not {found}.",
        )


def a_coalition_has_the_answer_that_it_has_alone(subject: ClassifierSubject) -> None:
    """Rows of other lengths in the same batch do not matter."""
    encoded = subject.encode(subject.inputs[0])
    keep = np.random.default_rng(0).random((4, encoded.n_features)) < 0.5  # noqa: PLR2004  half
    keep[0] = True
    for remover in subject.removers:
        together = subject.logits(encoded, remover, keep)
        alone = np.concatenate([subject.logits(encoded, remover, row[None]) for row in keep])
        apart = float(np.abs(together - alone).max())
        promise(
            _answers_alike(together, alone), f"logits of coalitions ({remover}) must be those alone; off by {apart:g}."
        )


def columns_are_those_that_are_asked_for(subject: ClassifierSubject) -> None:
    """In the order that they are asked for in."""
    encoded = subject.encode(subject.inputs[0])
    keep = np.ones((1, encoded.n_features), dtype=bool)
    order = list(range(len(subject.classifier.labels)))[::-1]
    whole = subject.logits(encoded, subject.removers[0], keep)
    some = subject.logits(encoded, subject.removers[0], keep, columns=order)
    promise(_answers_alike(some, whole[:, order]), f"columns {order} must be {whole[0, order]}, not {some[0]}.")


def offered_views_agree_with_the_game(subject: ClassifierSubject) -> None:
    """Each is of its type; gradients start at the prediction, and their baselines are what removers leave."""
    pairs = [one for one in subject.inputs if getattr(one, "pair", None) is not None]
    encodings = [subject.encode(one) for one in (subject.inputs[0], *pairs[:1])]
    for encoded, remover in product(encodings, subject.removers):
        game = subject.game(encoded, remover)
        for kind, offer in subject.classifier.offers.items():
            view = offer(encoded, subject.request(remover))
            promise(
                isinstance(view, kind), f"what is offered as {kind.__name__} must be one, not {type(view).__name__}."
            )
            if isinstance(view, GradientView):
                _agree_on(view.score(view.inputs), game.full, "a GradientView at its own input", "the untouched input")
                if remover in view.baselines:
                    nothing = view.score(view.baselines[remover])
                    _agree_on(nothing, game.empty, f"the baseline '{remover}'", "an input with everything removed")
            if isinstance(view, SoftGame) and remover in view.view.baselines:
                with torch.no_grad():
                    ends = view(torch.stack([torch.ones(view.n_features), torch.zeros(view.n_features)]))
                hard = np.stack([game.full, game.empty])
                _agree_on(ends.double().cpu().numpy(), hard, f"a SoftGame ('{remover}') at 1 and 0", "the game")


def odd_inputs_have_finite_answers_in_every_view(subject: ClassifierSubject) -> None:
    """One feature or many, without a token or in several windows."""
    remover = subject.removers[0]
    for example in subject.inputs:
        encoded = subject.encode(example)
        game = subject.game(encoded, remover)
        finite = np.isfinite(game.full).all() and np.isfinite(game.empty).all()
        promise(finite, f"scores of {example.key!r} with all and with nothing removed must be finite numbers.")
        if GradientView in subject.classifier.offers:
            for number in range(len(encoded.windows)):
                view = subject.classifier.offers[GradientView](encoded.segment(number)[0], subject.request(remover))
                slope = cast("GradientView", view).gradient()
                promise(torch.isfinite(slope).all(), f"the gradient of {example.key!r} must be finite.")


def what_is_claimed_to_work_works_and_leaves_the_model_alone(subject: ClassifierSubject) -> None:
    """By every method that `wl.compatible` says works with it."""
    claims = compatible(subject.classifier)
    working = [name for name, reason in claims.items() if reason is None]
    promise(working, f"some method must work with a classifier; none does: {next(iter(claims.values()))}.")
    model = hosted(subject.classifier).model if is_hosted(subject.classifier) else None
    before = None if model is None else snapshot(model)
    for name in working:
        few = {setting: value for setting, value in FEW.items() if setting in METHODS[name].settings}
        found = explain(subject.classifier, subject.inputs[0], method=name, evidence_sign="none", progress=False, **few)
        promise(np.isfinite(found.scores).all(), f"'{name}' is said to work, and must give finite scores.")
    if before is not None:
        changed = changed_parts(before, snapshot(model))
        promise(not changed, f"explaining must leave model and process as they were; changed: {', '.join(changed)}.")


def contents_are_texts_and_the_same_each_time(subject: ClassifierSubject) -> None:
    """By which folders of results know it; None says that there is no telling."""
    first, second = subject.classifier.contents(), subject.classifier.contents()
    promise(first == second, "contents() must be the same while nothing changes; they differ.")
    texts = all(isinstance(one, str) for pair in (first or {}).items() for one in pair)
    promise(texts, f"contents() must map names to hashes, both texts, not {first}.")


def _agree_on(found: Floats, expected: Floats, what: str, other: str) -> None:
    promise(_answers_alike(found, expected), f"{what} must have the scores of {other}, {expected}, not {found}.")


def _answers_alike(found: Floats, expected: Floats) -> bool:
    return bool(np.abs(found - expected).max() <= CLOSE * max(1.0, float(np.abs(expected).max())))


CLASSIFIER_CHECKS: tuple[Check[ClassifierSubject], ...] = (
    Check(it_says_what_it_is_and_offers),
    Check(features_slice_back_and_cover_the_text, lambda one: one.classifier.reads == Text.kind),
    Check(an_untouched_input_has_the_predicted_scores),
    Check(answers_are_those_of_a_plain_call, lambda one: is_hosted(one.classifier)),
    Check(a_coalition_has_the_answer_that_it_has_alone),
    Check(columns_are_those_that_are_asked_for),
    Check(offered_views_agree_with_the_game),
    Check(odd_inputs_have_finite_answers_in_every_view),
    Check(what_is_claimed_to_work_works_and_leaves_the_model_alone),
    Check(contents_are_texts_and_the_same_each_time),
)
