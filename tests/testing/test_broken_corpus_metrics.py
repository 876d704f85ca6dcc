"""Every check of metrics over a corpus fails for one that breaks its promise, and for no other reason."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from breaking import failing, inside

from whylight.core.arrays import Floats
from whylight.core.marked import MarkedCorpus
from whylight.core.registry import metric
from whylight.testing import check_metric, metric_checks
from whylight.testing.running import DECLARED
from whylight.views.game import Game

ABOVE = {one.function.__name__ for one in DECLARED}
"""Checks that are the same for every kind of plug-in; `test_broken_methods.py` breaks them."""


def best_is_gold(corpus: MarkedCorpus) -> Floats:
    """The share of pairs whose best feature is gold."""
    return corpus.mean_over_pairs(np.asarray([float(one.gold[one.scores.argmax()]) for one in corpus.pairs]))


def registered(change: Callable[[MarkedCorpus, Floats], Any], **facts: Any) -> None:
    @metric(**{"cite": "here", "higher_is_better": True, **facts})
    def subject(corpus: MarkedCorpus) -> Any:
        """Measure how often the best feature is gold."""
        return change(corpus, best_is_gold(corpus))


def it_consumes_a_corpus_alone() -> None:
    @metric(cite="here", higher_is_better=True)
    def subject(corpus: MarkedCorpus, _game: Game = None) -> Any:  # type: ignore[assignment]
        """Measure how often the best feature is gold."""
        return best_is_gold(corpus)


def there_is_one_finite_number_per_draw() -> None:
    title = "there_is_one_finite_number_per_draw"
    registered(lambda _corpus, values: values.astype(np.float32) if inside(title) else values)


def the_first_draw_is_the_plain_value() -> None:
    title = "the_first_draw_is_the_plain_value"
    registered(lambda corpus, values: values + 0.01 * len(corpus.weights) * inside(title))


def a_draw_is_the_corpus_that_it_holds() -> None:
    registered(lambda corpus, values: np.append(values[:1], 0.9 * values[1:]) if len(corpus.weights) > 1 else values)


def the_order_of_pairs_does_not_matter() -> None:
    title = "the_order_of_pairs_does_not_matter"
    registered(lambda corpus, values: values + 0.01 * float(corpus.pairs[0].scores[0]) * inside(title))


def every_pair_twice_is_the_same_corpus() -> None:
    title = "every_pair_twice_is_the_same_corpus"
    registered(lambda corpus, values: values + 0.01 * len(corpus.pairs) * inside(title))


def the_size_of_scores_does_not_matter() -> None:
    title = "the_size_of_scores_does_not_matter"
    registered(lambda corpus, values: values + 0.01 * float(corpus.pairs[0].scores.max()) * inside(title))


def measuring_a_corpus_again_gives_the_same_bytes() -> None:
    calls: list[None] = []

    def counted(_corpus: MarkedCorpus, values: Floats) -> Floats:
        calls.append(None)
        return values + 1e-15 * len(calls) * inside("measuring_a_corpus_again_gives_the_same_bytes")

    registered(counted)


def what_people_marked_is_better_than_chance() -> None:
    registered(lambda _corpus, values: values, higher_is_better=False)


def it_asks_for_tuning_texts_or_does_without() -> None:
    title = "it_asks_for_tuning_texts_or_does_without"
    registered(lambda corpus, values: values + 0.01 * (corpus.others is not None) * inside(title))


BROKEN = [
    it_consumes_a_corpus_alone,
    there_is_one_finite_number_per_draw,
    the_first_draw_is_the_plain_value,
    a_draw_is_the_corpus_that_it_holds,
    the_order_of_pairs_does_not_matter,
    every_pair_twice_is_the_same_corpus,
    the_size_of_scores_does_not_matter,
    measuring_a_corpus_again_gives_the_same_bytes,
    what_people_marked_is_better_than_chance,
    it_asks_for_tuning_texts_or_does_without,
]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_promise_of_a_corpus_metric_is_seen_and_no_other(broken: Callable[[], None]) -> None:
    broken()
    assert failing(metric_checks("subject")) == {broken.__name__}


def test_every_check_of_corpus_metrics_has_a_broken_one_and_a_sound_one_passes() -> None:
    registered(lambda _corpus, values: values)
    check_metric("subject")
    assert {title for title, _ in metric_checks("subject")} == {broken.__name__ for broken in BROKEN} | ABOVE


def test_a_corpus_metric_that_changes_its_corpus_is_seen() -> None:
    def halved(corpus: MarkedCorpus, values: Floats) -> Floats:
        corpus.pairs[0].scores *= 1.0
        return values

    registered(halved)
    assert "measuring_a_corpus_again_gives_the_same_bytes" in failing(metric_checks("subject"))
