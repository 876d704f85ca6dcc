"""The checks of methods by name, and which of them are run on which architecture."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest

import quick
import tiny
from whylight.core.registry import METHODS
from whylight.store.tables import RANDOM
from whylight.testing import method_checks
from whylight.views.game import Game

FULLY = ("bert", "plm_ca")
"""Architectures on which every method is checked in full: one that reads a text at once, and one that reads chunks."""
ONCE = {"settings_parse_back", "it_says_what_it_is"}
"""Checks that look at no model."""
EVERYWHERE = {
    "scores_have_a_row_per_target_and_a_column_per_feature",
    "something_is_scored",
    "unsigned_scores_are_not_negative",
    "the_same_call_gives_the_same_bytes",
    "batches_do_not_matter",
    "a_model_in_training_is_left_as_it_was",
    "training_mode_does_not_change_the_scores",
    "a_model_is_left_as_it_was_after_an_error_midway",
}
"""Checks of what depends on an architecture as much as on a method."""
OF_VIEWS = {"inputs_of_every_shape_have_finite_scores"}
"""Checks of what methods that look at a model in the same way have in common."""
MOSTLY_OF_VIEWS = {
    "batches_do_not_matter",
    "half_precision_is_explained_as_it_is",
    "it_works_inside_inference_mode",
    "it_works_inside_no_grad",
    "odd_inputs_have_finite_scores",
    "scores_of_every_kind_are_explained_or_refused_as_declared",
    "inputs_of_every_shape_have_finite_scores",
    "the_same_call_gives_the_same_bytes",
    "training_mode_does_not_change_the_scores",
}
"""Checks that hold for all of them wherever they hold for one; that they do is left to the slow tests."""
OF_TOKENIZERS = {"every_unit_is_explained"}
OTHER_TOKENIZERS = ("roberta", "llama")
COSTLY = ("aml", "marc")
"""Methods that train or optimise, and see no more of an architecture than its gradients, which others look at too."""


@cache
def titles() -> dict[str, list[str]]:
    """The names of the checks of each method."""
    return {name: [title for title, _ in method_checks(name)] for name in quick.METHOD_NAMES}


@cache
def checks(method: str, architecture: str) -> dict[str, Callable[[], None]]:
    few = method == "kernel_shap" and architecture not in FULLY  # it explains no long text there
    cheap = {"samples": 60} if few else quick.cheap(method)

    def settings(clf: Any) -> Mapping[str, object]:
        return {**cheap, **quick.given(method, clf)}

    return dict(method_checks(method, classifier=quick.classifier(architecture, num_labels=3), settings=settings))


def run(method: str, architecture: str, title: str) -> None:
    checks(method, architecture)[title]()


@cache
def one_of_each_view() -> set[str]:
    """One method for each way to look at a model: by what it consumes, and whether it takes layers apart.

    It is the one with the fewest settings, which costs least; the last one stays.
    """
    asking = [name for name in quick.METHOD_NAMES if name != RANDOM]  # which asks a model nothing
    names = sorted(asking, key=lambda name: -len(METHODS[name].settings))
    return set({(METHODS[name].consumes, METHODS[name].facts["layers"]): name for name in names}.values())


def marks(method: str, architecture: str, title: str) -> list[Any]:
    """Return the marks of a test: `slow` where another one says nearly as much."""
    twin = architecture in tiny.RELATIVES
    another = architecture != "bert" and title in MOSTLY_OF_VIEWS and method not in one_of_each_view()
    alike = architecture not in (*FULLY, *OTHER_TOKENIZERS) and (title in OF_VIEWS or method in COSTLY)
    return [pytest.mark.slow] if twin or another or alike else []


def says_something(method: str, architecture: str, title: str) -> bool:
    """Say whether a check of a method tells more on this architecture than it tells on those of `FULLY`."""
    if title in OF_TOKENIZERS:
        return architecture in OTHER_TOKENIZERS
    hidden = METHODS[method].consumes == (Game,)  # a game is all that such a method sees of an architecture
    of_one = title in OF_VIEWS or (hidden and title in EVERYWHERE)
    return method in one_of_each_view() if of_one else title in EVERYWHERE
