"""What every metric over a corpus promises, new plug-ins included."""

import inspect
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from whylight.core.arrays import Floats
from whylight.core.errors import SettingError
from whylight.core.marked import (
    MarkedCorpus,
    MarkedPair,
    TuningNeededError,
    asks_for_tuning,
    is_corpus_metric,
    marked_corpus,
)
from whylight.core.registry import METRICS

NAMES = [name for name in METRICS.names() if is_corpus_metric(METRICS[name])]
every_metric = pytest.mark.parametrize("name", NAMES)
FLAGS = [(name, {flag: True}) for name in NAMES for flag, own in METRICS[name].settings.items() if own.type is bool]
FORMS = [*((name, {}) for name in NAMES), *FLAGS]
every_form = pytest.mark.parametrize(("name", "settings"), FORMS)
# what is learnt from the evaluated texts themselves is learnt once, and not anew for each draw
every_learnt_form = pytest.mark.parametrize(
    ("name", "settings"), [form for form in FORMS if "leave_one_out" not in form[1]]
)


@pytest.fixture(autouse=True)
def _warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def drawn_pairs(seed: int, *, texts: int = 7, prefix: str = "t") -> list[MarkedPair]:
    """Random scores and marks; every other text has two labels."""
    generator = np.random.default_rng(seed)
    made = []
    for text in range(texts):
        size = int(generator.integers(4, 9))
        for _ in range(1 + text % 2):
            gold = np.arange(size) < generator.integers(1, size)
            scores = gold + generator.normal(scale=0.7, size=size)
            made.append(MarkedPair(f"{prefix}{text}", scores, gold, np.zeros(size, dtype=np.int64)))
    return made


PAIRS, OTHERS = drawn_pairs(0), drawn_pairs(1, prefix="v")


def measure(name: str, corpus: MarkedCorpus, **settings: Any) -> Floats:
    spec = METRICS[name]
    values: Floats = spec.function(corpus, **spec.complete_settings(settings))
    return values


@every_form
def test_it_gives_one_finite_value_per_draw(name: str, settings: dict[str, Any]) -> None:
    values = measure(name, marked_corpus(PAIRS, OTHERS, resamples=20), **settings)
    assert values.shape == (21,)
    assert values.dtype == np.float64
    assert ((values >= 0) & (values <= 1)).all()


@every_form
def test_the_first_draw_is_the_plain_value(name: str, settings: dict[str, Any]) -> None:
    alone = measure(name, marked_corpus(PAIRS, OTHERS), **settings)
    assert alone.shape == (1,)
    assert measure(name, marked_corpus(PAIRS, OTHERS, resamples=20), **settings)[0] == pytest.approx(alone[0])


@every_learnt_form
def test_a_draw_is_the_corpus_that_it_holds(name: str, settings: dict[str, Any]) -> None:
    """Each draw's value is that of a corpus in which every pair stands as often as it is drawn."""

    def plain(pairs: Sequence[MarkedPair]) -> float:
        return float(measure(name, marked_corpus(_apart(pairs), OTHERS), **settings)[0])

    corpus = marked_corpus(PAIRS, OTHERS, resamples=10)
    expected = corpus.for_each_draw(plain)
    np.testing.assert_allclose(measure(name, corpus, **settings), expected, rtol=1e-12)
    assert len(set(expected)) > 1


def _apart(pairs: Sequence[MarkedPair]) -> list[MarkedPair]:
    """Name the second, third, ... copy of a text apart: a text that is drawn twice counts twice."""
    seen: dict[int, int] = {}
    made = []
    for one in pairs:
        seen[id(one)] = seen.get(id(one), 0) + 1
        made.append(MarkedPair(f"{one.text}-{seen[id(one)]}", one.scores, one.gold, one.parts))
    return made


@every_form
def test_the_order_of_pairs_does_not_matter(name: str, settings: dict[str, Any]) -> None:
    value = measure(name, marked_corpus(PAIRS, OTHERS), **settings)
    assert measure(name, marked_corpus(PAIRS[::-1], OTHERS[::-1]), **settings) == pytest.approx(value)


@every_form
def test_every_pair_twice_is_the_same_corpus(name: str, settings: dict[str, Any]) -> None:
    value = measure(name, marked_corpus(PAIRS, OTHERS), **settings)
    assert measure(name, marked_corpus([*PAIRS, *PAIRS], [*OTHERS, *OTHERS]), **settings) == pytest.approx(value)


@every_form
def test_the_same_call_gives_the_same_bytes_and_changes_nothing(name: str, settings: dict[str, Any]) -> None:
    corpus = marked_corpus(PAIRS, OTHERS, resamples=3)
    before = [one.scores.tobytes() for one in PAIRS]
    for array in (corpus.weights, *(one.scores for one in (*PAIRS, *OTHERS))):
        array.flags.writeable = False
    first, second = measure(name, corpus, **settings), measure(name, corpus, **settings)
    assert first.tobytes() == second.tobytes()
    assert [one.scores.tobytes() for one in PAIRS] == before


@every_form
def test_the_size_of_scores_does_not_matter(name: str, settings: dict[str, Any]) -> None:
    larger = [MarkedPair(one.text, one.scores * 1024, one.gold, one.parts) for one in PAIRS]
    value = measure(name, marked_corpus(PAIRS, OTHERS), **settings)
    assert measure(name, marked_corpus(larger, OTHERS), **settings) == pytest.approx(value)


@every_metric
def test_what_people_marked_is_better_than_chance(name: str) -> None:
    generator = np.random.default_rng(5)

    def measured(scores: Any) -> float:
        own = [MarkedPair(one.text, scores(one), one.gold, one.parts) for one in PAIRS]
        tuning = [MarkedPair(one.text, scores(one), one.gold, one.parts) for one in OTHERS]
        return float(measure(name, marked_corpus(own, tuning))[0])

    right, chance = measured(lambda one: one.gold.astype(float)), measured(lambda one: generator.random(len(one.gold)))
    assert (right > chance) == METRICS[name].facts["higher_is_better"]


@every_metric
@pytest.mark.parametrize("scores", [0.0, -1.0])
def test_texts_without_a_positive_score_have_a_value(name: str, scores: float) -> None:
    flat = [MarkedPair(one.text, np.full(len(one.gold), scores), one.gold, one.parts) for one in PAIRS]
    values = measure(name, marked_corpus(flat, OTHERS, resamples=3))
    assert ((values >= 0) & (values <= 1)).all()


@every_metric
def test_it_asks_for_tuning_texts_or_does_without(name: str) -> None:
    spec = METRICS[name]
    corpus = marked_corpus(PAIRS, resamples=2)
    if asks_for_tuning(spec, spec.complete_settings({})):
        with pytest.raises(TuningNeededError, match="texts to tune on"):
            measure(name, corpus)
    else:
        assert measure(name, corpus).tobytes() == measure(name, marked_corpus(PAIRS, OTHERS, resamples=2)).tobytes()


def test_who_asks_for_tuning_texts() -> None:
    asking = {name for name in NAMES if asks_for_tuning(METRICS[name], METRICS[name].complete_settings({}))}
    assert {"micro_f1", "f1_of_means", "kernel_regression_f1"} <= asking
    assert not asking & {"corpus_auprc", "corpus_average_precision"}
    for name, settings in (("micro_f1", {"boundary": 0.2}), ("kernel_regression_f1", {"leave_one_out": True})):
        assert not asks_for_tuning(METRICS[name], METRICS[name].complete_settings(settings))


def test_a_corpus_without_rationales_is_refused() -> None:
    with pytest.raises(SettingError, match="no pair has a rationale"):
        marked_corpus([MarkedPair("a", np.ones(2), np.zeros(2, dtype=bool), np.zeros(2, dtype=np.int64))])


def test_texts_are_drawn_whole() -> None:
    weights = marked_corpus(PAIRS, resamples=50).weights
    texts = [one.text for one in PAIRS]
    firsts = [texts.index(text) for text in texts]
    np.testing.assert_array_equal(weights, weights[:, firsts])
    assert (weights[0] == 1).all()
    np.testing.assert_array_equal(weights[:, sorted(set(firsts))].sum(axis=1), np.full(51, 7.0))


@every_metric
def test_it_consumes_a_corpus_alone_and_every_setting_has_a_default_of_its_own_type(name: str) -> None:
    spec = METRICS[name]
    assert spec.consumes == (MarkedCorpus,)
    assert spec.facts["resamples"] >= 100
    for setting in spec.settings.values():
        assert setting.default is not inspect.Parameter.empty
        assert setting.parse(str(setting.default)) == setting.default


@every_metric
def test_it_says_what_it_is_whose_it_is_and_what_it_costs(name: str) -> None:
    spec = METRICS[name]
    about = inspect.getdoc(spec.function) or ""
    assert spec.summary.endswith(".")
    assert "Reference:" in about
    assert "Cost:" in about
    assert spec.facts["cite"]
    assert ("igher is" in about, "ower is" in about) == (
        spec.facts["higher_is_better"],
        not spec.facts["higher_is_better"],
    )
