"""What every metric over a corpus promises; `check_metric` runs these on one.

A metric gets a small corpus of random scores and marks, and other texts to tune on. Cost: none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.marked import MarkedCorpus, MarkedPair, TuningNeededError, asks_for_tuning, marked_corpus
from whylight.core.registry import Spec
from whylight.testing.running import DECLARED, Check, promise, without_warnings

TEXTS, DRAWS = 7, 20
ENOUGH = 100
"""Draws below which an interval says little."""
SMALL = 1e-9


@dataclass(frozen=True, eq=False)
class CorpusMetricSubject:
    """A metric over a corpus.

    Attributes:
        spec: The metric.
        settings: Settings that it is run with.
    """

    spec: Spec
    settings: Mapping[str, object]

    def measure(self, corpus: MarkedCorpus) -> Floats:
        """Measure a corpus; a warning breaks a promise."""
        with without_warnings():
            return np.asarray(self.spec.function(corpus, **self.spec.complete_settings(self.settings)))

    def value(self, pairs: Sequence[MarkedPair], tuning: Sequence[MarkedPair]) -> float:
        """Return the plain value of some pairs."""
        return float(self.measure(marked_corpus(pairs, tuning))[0])


def random_pairs(seed: int, *, prefix: str) -> list[MarkedPair]:
    """Return random scores and marks; every other text has two labels."""
    generator = np.random.default_rng(seed)
    made = []
    for text in range(TEXTS):
        size = int(generator.integers(4, 9))
        for _ in range(1 + text % 2):
            gold = np.arange(size) < generator.integers(1, size)
            scores = gold + generator.normal(scale=0.7, size=size)
            made.append(MarkedPair(f"{prefix}{text}", scores, gold, np.zeros(size, dtype=np.int64)))
    return made


PAIRS, OTHERS = random_pairs(0, prefix="t"), random_pairs(1, prefix="v")


def it_consumes_a_corpus_alone(subject: CorpusMetricSubject) -> None:
    """By the types of its positional parameters; and it has enough draws for an interval."""
    promise(len(subject.spec.consumes) == 1, "a metric over a corpus takes the corpus and nothing else.")
    draws, cited = subject.spec.facts["resamples"], subject.spec.facts["cite"]
    promise(draws >= ENOUGH, f"an interval needs {ENOUGH} resamples or more, not {draws}.")
    promise(cited, "a metric must name the paper that defines it.")


def there_is_one_finite_number_per_draw(subject: CorpusMetricSubject) -> None:
    """Also where no feature has a positive score."""
    flat = [[replace(one, scores=np.full(len(one.gold), value)) for one in PAIRS] for value in (0.0, -1.0)]
    for pairs in (PAIRS, *flat):
        values = subject.measure(marked_corpus(pairs, OTHERS, resamples=DRAWS))
        found = f"{values.dtype} {values.shape}"
        right = values.shape == (1 + DRAWS,) and values.dtype == np.float64
        promise(right, f"there must be one float64 number per draw, ({1 + DRAWS},), not {found}.")
        promise(np.isfinite(values).all(), f"numbers must be finite, not {values}.")


def the_first_draw_is_the_plain_value(subject: CorpusMetricSubject) -> None:
    """However many draws follow."""
    alone, first = subject.value(PAIRS, OTHERS), subject.measure(marked_corpus(PAIRS, OTHERS, resamples=DRAWS))[0]
    promise(abs(alone - first) <= SMALL, f"the first draw is the corpus itself, {alone}, not {first}.")


def a_draw_is_the_corpus_that_it_holds(subject: CorpusMetricSubject) -> None:
    """Its number is that of a corpus in which every pair stands as often as it is drawn."""
    corpus = marked_corpus(PAIRS, OTHERS, resamples=DRAWS)
    expected = corpus.for_each_draw(lambda pairs: subject.value(_apart(pairs), OTHERS))
    found = subject.measure(corpus)
    promise(np.allclose(found, expected, rtol=0, atol=SMALL), f"draws must measure {expected}, not {found}.")
    promise(len(set(expected.tolist())) > 1, "different draws must be able to have different numbers.")


def the_order_of_pairs_does_not_matter(subject: CorpusMetricSubject) -> None:
    """Neither of those that are measured nor of those that are tuned on."""
    _same_value(subject, PAIRS[::-1], OTHERS[::-1], "in another order")


def every_pair_twice_is_the_same_corpus(subject: CorpusMetricSubject) -> None:
    """What counts is how the pairs are, not how many there are."""
    _same_value(subject, [*PAIRS, *PAIRS], [*OTHERS, *OTHERS], "of which each stands there twice")


def the_size_of_scores_does_not_matter(subject: CorpusMetricSubject) -> None:
    """Methods give scores of any size."""
    _same_value(subject, [replace(one, scores=one.scores * 1024) for one in PAIRS], OTHERS, "with larger scores")


def measuring_a_corpus_again_gives_the_same_bytes(subject: CorpusMetricSubject) -> None:
    """And nothing of the corpus is changed."""
    own, others = random_pairs(0, prefix="t"), random_pairs(1, prefix="v")
    corpus = marked_corpus(own, others, resamples=3)
    for array in (corpus.weights, *(one.scores for one in (*own, *others))):
        array.flags.writeable = False
    first, second = subject.measure(corpus), subject.measure(corpus)
    promise(first.tobytes() == second.tobytes(), f"the same call must give the same bytes, not {first} and {second}.")


def what_people_marked_is_better_than_chance(subject: CorpusMetricSubject) -> None:
    """In the direction that the metric declares."""
    generator = np.random.default_rng(5)
    both = (PAIRS, OTHERS)
    marks = ([replace(one, scores=one.gold.astype(np.float64)) for one in own] for own in both)
    noise = ([replace(one, scores=generator.random(len(one.gold))) for one in own] for own in both)
    right, chance = subject.value(*marks), subject.value(*noise)
    higher = subject.spec.facts["higher_is_better"]
    kept = isinstance(higher, bool) and (right > chance) == higher
    promise(kept, f"higher_is_better={higher}, yet the marks measure {right:g} and chance {chance:g}.")


def it_asks_for_tuning_texts_or_does_without(subject: CorpusMetricSubject) -> None:
    """A metric that learns from other texts reads `corpus.tuning`, which says so where there are none."""
    corpus = marked_corpus(PAIRS, resamples=2)
    asks = asks_for_tuning(subject.spec, subject.spec.complete_settings(subject.settings))
    try:
        alone = subject.measure(corpus)
    except TuningNeededError:
        promise(asks, "it asks for texts to tune on now and then; it must always or never.")
        return
    tuned = subject.measure(marked_corpus(PAIRS, OTHERS, resamples=2))
    promise(not asks and alone.tobytes() == tuned.tobytes(), "what asks for no tuning texts must not depend on them.")


def _same_value(
    subject: CorpusMetricSubject, pairs: Sequence[MarkedPair], tuning: Sequence[MarkedPair], how: str
) -> None:
    plain, other = subject.value(PAIRS, OTHERS), subject.value(pairs, tuning)
    promise(abs(plain - other) <= SMALL, f"pairs {how} must measure the same; {plain} became {other}.")


def _apart(pairs: Sequence[MarkedPair]) -> list[MarkedPair]:
    """Name the second, third, ... copy of a text apart: a text that is drawn twice counts twice."""
    seen: dict[int, int] = {}
    made = []
    for one in pairs:
        seen[id(one)] = seen.get(id(one), 0) + 1
        made.append(replace(one, text=f"{one.text}-{seen[id(one)]}"))
    return made


CORPUS_METRIC_CHECKS: tuple[Check[CorpusMetricSubject], ...] = (
    *DECLARED,
    Check(it_consumes_a_corpus_alone),
    Check(there_is_one_finite_number_per_draw),
    Check(the_first_draw_is_the_plain_value),
    Check(a_draw_is_the_corpus_that_it_holds),
    Check(the_order_of_pairs_does_not_matter),
    Check(every_pair_twice_is_the_same_corpus),
    Check(the_size_of_scores_does_not_matter),
    Check(measuring_a_corpus_again_gives_the_same_bytes),
    Check(what_people_marked_is_better_than_chance),
    Check(it_asks_for_tuning_texts_or_does_without),
)
