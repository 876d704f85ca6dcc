"""Every check of corpora and classifiers fails for one that breaks its promise, and for no other reason."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from breaking import failing

import tiny
from whylight.core.rationale import Rationale
from whylight.core.text import Span, Text
from whylight.data.dataset import Dataset, Record
from whylight.data.registry import corpus
from whylight.models.load import load
from whylight.testing import check_classifier, check_corpus, classifier_checks, corpus_checks
from whylight.testing.running import DECLARED, failure
from whylight.views.classifier import game_of
from whylight.views.game import Game
from whylight.views.soft import SoftGame

ABOVE = {one.function.__name__ for one in DECLARED}
SPLITS = ("train", "test")


def records() -> tuple[Record, ...]:
    texts = [Text("a good film", words=(Span(0, 0, 1), Span(0, 2, 6), Span(0, 7, 11))), Text("a dull film")]
    marks = {"yes": Rationale((Span(0, 2, 6),))}
    return (Record("0", texts[0], ("yes",), marks), Record("1", texts[1], ("no",)))


def made(change: Callable[[Dataset], Dataset], **facts: Any) -> None:
    @corpus(**{"cite": "", "splits": SPLITS, "needs_path": False, **facts})
    def subject(path: Path, split: str) -> Dataset:  # noqa: ARG001  every corpus has one
        """Two records."""
        return change(Dataset("subject", split, ("no", "yes"), records()))


def with_first(**changes: Any) -> Callable[[Dataset], Dataset]:
    return lambda data: replace(data, records=(replace(data.records[0], **changes), data.records[1]))


def it_takes_a_path_and_a_split() -> None:
    @corpus(cite="", splits=SPLITS, needs_path=False)
    def subject(path: str, split: str) -> Dataset:  # noqa: ARG001
        """Two records."""
        return Dataset("subject", split, ("no", "yes"), records())


def what_is_not_there_is_refused_by_its_path() -> None:
    made(lambda data: data, needs_path=True)


def a_split_that_does_not_exist_is_refused() -> None:
    made(lambda data: data, splits=())


def a_split_is_what_was_asked_for() -> None:
    made(lambda data: replace(data, split="another"))


def reading_again_gives_the_same() -> None:
    calls: list[None] = []

    def other_text(data: Dataset) -> Dataset:
        calls.append(None)
        return replace(data, records=(*data.records, Record("2", Text(f"film {len(calls)}"), ())))

    made(other_text)


def label_names_are_texts_and_the_same_in_each_split() -> None:
    made(lambda data: replace(data, label_names=data.label_names[:: 1 if data.split == "test" else -1]))


def ids_are_different_texts() -> None:
    made(with_first(id=0))


def labels_are_among_the_label_names() -> None:
    made(with_first(labels=("yes", "no")))  # two, and it is no corpus of several labels


def rationales_are_of_true_labels_and_slice_to_text() -> None:
    made(with_first(rationales={"yes": Rationale((Span(0, 7, 12),))}))


def words_slice_to_text_in_reading_order() -> None:
    made(with_first(example=Text("a good film", words=(Span(0, 2, 6), Span(0, 0, 1)))))


def inputs_are_the_same_after_json() -> None:
    made(lambda data: replace(data, records=(*data.records, Record("2", Text(" \n"), ()))))


CORPORA_BROKEN = [
    it_takes_a_path_and_a_split,
    what_is_not_there_is_refused_by_its_path,
    a_split_that_does_not_exist_is_refused,
    a_split_is_what_was_asked_for,
    reading_again_gives_the_same,
    label_names_are_texts_and_the_same_in_each_split,
    ids_are_different_texts,
    labels_are_among_the_label_names,
    rationales_are_of_true_labels_and_slice_to_text,
    words_slice_to_text_in_reading_order,
    inputs_are_the_same_after_json,
]


@pytest.mark.parametrize("broken", CORPORA_BROKEN)
def test_a_broken_promise_of_a_corpus_is_seen_and_no_other(broken: Callable[[], None], tmp_path: Path) -> None:
    broken()
    assert failing(corpus_checks("subject", path=tmp_path)) == {broken.__name__}


def test_every_check_of_corpora_has_a_broken_one_and_a_sound_one_passes(tmp_path: Path) -> None:
    made(lambda data: data)
    check_corpus("subject")
    every = {title for name in ("subject", "sst") for title, _ in corpus_checks(name, path=tmp_path)}
    assert every == {broken.__name__ for broken in CORPORA_BROKEN} | ABOVE


def test_without_a_path_a_corpus_of_files_is_checked_for_what_needs_no_records() -> None:
    few = {title for title, _ in corpus_checks("sst")}
    assert few == ABOVE | {"it_takes_a_path_and_a_split", "what_is_not_there_is_refused_by_its_path"}
    check_corpus("sst")


class Changed:
    """A classifier that is another one but for what is changed about it."""

    def __init__(self, inner: Any, **changes: Any) -> None:
        self.__dict__.update(changes, inner=inner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inner"], name)


def function() -> Any:
    return load(
        lambda texts: [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts],
        labels=["yes", "no"],
        mask_string="[MASK]",
        identity="good",
    )


def answering(change: Callable[[Any, Any, str], Any]) -> Any:
    """A classifier whose logits are changed: by the logits, the masks and the name of the remover."""
    inner = function()

    def outcomes(encoded: Any, *, removal: Any, columns: Any = None, **options: Any) -> Any:
        ask = inner.outcomes(encoded, removal=removal, columns=columns, **options)
        return lambda keep: change(ask(keep), keep, removal.name)

    changed = Changed(inner, outcomes=outcomes)
    vars(changed)["offers"] = {Game: partial(game_of, changed)}
    return changed


def it_says_what_it_is_and_offers() -> Any:
    return Changed(function(), score_spaces=("probability", "likelihood"))


def features_slice_back_and_cover_the_text() -> Any:
    inner = function()

    def encode(example: Any, **options: Any) -> Any:
        found = inner.encode(example, **options)
        return replace(found, places=tuple(replace(place, end=place.end + 1) for place in found.places))

    return Changed(inner, encode=encode)


def an_untouched_input_has_the_predicted_scores() -> Any:
    return answering(lambda logits, keep, name: logits - (keep.all(1)[:, None] & (name == "mask")) * [[0.0, 1.0]])


def answers_are_those_of_a_plain_call() -> Any:
    return Changed(tiny.classifier("bert"), tokenizer=tiny.tokenizer("roberta"))


def a_coalition_has_the_answer_that_it_has_alone() -> Any:
    return answering(lambda logits, keep, _name: logits + (len(keep) > 1) * np.asarray([[0.0, 0.1]]))


def columns_are_those_that_are_asked_for() -> Any:
    inner = function()

    def outcomes(encoded: Any, *, columns: Any = None, **options: Any) -> Any:
        return inner.outcomes(encoded, columns=None if columns is None else sorted(columns), **options)

    return Changed(inner, outcomes=outcomes)


def offered_views_agree_with_the_game() -> Any:
    inner = tiny.classifier("bert")
    return Changed(inner, offers={**inner.offers, SoftGame: tiny.classifier("bert", seed=1).offers[SoftGame]})


def odd_inputs_have_finite_answers_in_every_view() -> Any:
    def nothing_of_one_word(logits: Any, keep: Any, _name: str) -> Any:
        return np.where((keep.shape[1] == 1) & ~keep.any(axis=1)[:, None], np.nan, logits)

    return answering(nothing_of_one_word)


def what_is_claimed_to_work_works_and_leaves_the_model_alone() -> Any:
    def few(logits: Any, keep: Any, _name: str) -> Any:
        if len(keep) > 100:
            raise RuntimeError("that many rows do not fit")
        return logits

    return answering(few)


def contents_are_texts_and_the_same_each_time() -> Any:
    calls: list[None] = []
    return Changed(function(), contents=lambda: {"name": str(calls.append(None) or len(calls))})  # type: ignore[func-returns-value]


CLASSIFIERS_BROKEN = [
    it_says_what_it_is_and_offers,
    features_slice_back_and_cover_the_text,
    an_untouched_input_has_the_predicted_scores,
    answers_are_those_of_a_plain_call,
    a_coalition_has_the_answer_that_it_has_alone,
    columns_are_those_that_are_asked_for,
    offered_views_agree_with_the_game,
    odd_inputs_have_finite_answers_in_every_view,
    what_is_claimed_to_work_works_and_leaves_the_model_alone,
    contents_are_texts_and_the_same_each_time,
]


@pytest.mark.parametrize("broken", CLASSIFIERS_BROKEN)
def test_a_broken_promise_of_a_classifier_is_seen(broken: Callable[[], Any]) -> None:
    assert failure(dict(classifier_checks(broken()))[broken.__name__]) is not None


@pytest.mark.slow
@pytest.mark.parametrize("broken", CLASSIFIERS_BROKEN)
def test_no_other_promise_of_a_classifier_is_said_to_be_broken(broken: Callable[[], Any]) -> None:
    assert failing(classifier_checks(broken())) == {broken.__name__}


def test_every_check_of_classifiers_has_a_broken_one_and_a_sound_one_passes() -> None:
    sound = tiny.classifier("bert")
    check_classifier(sound)
    assert {title for title, _ in classifier_checks(sound)} == {broken.__name__ for broken in CLASSIFIERS_BROKEN}


def test_a_model_that_is_changed_on_the_way_is_seen() -> None:
    clf = tiny.classifier("bert")
    title = "what_is_claimed_to_work_works_and_leaves_the_model_alone"
    encode, clf.model.config.asked = clf.encode, 0

    def careless(*args: Any, **options: Any) -> Any:
        clf.model.config.asked += 1
        return encode(*args, **options)

    clf.encode = careless
    assert failing(classifier_checks(clf)) == {title}


def test_inputs_of_another_kind_are_asked_for() -> None:
    with pytest.raises(AssertionError, match=r"of the kind 'board' must be checked with inputs=\[\.\.\.\]"):
        check_classifier(Changed(function(), reads="board"))
