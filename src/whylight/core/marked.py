"""A marked corpus: what metrics over a whole data set look at.

A pair is one (text, label) for which people marked the evidence: the scores that a method gave to the features, and
which of them are gold. Pairs without a gold feature have no rationale and are left out. Texts to tune on are other
texts, and stand apart.

A metric over the corpus gives one value per draw. The first draw is the corpus itself, every pair once; in the others
texts are drawn with replacement, all pairs of a text together, because words of a text stand or fall together. So the
first value is the metric, and the spread of the others its uncertainty.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.errors import SettingError
from whylight.core.inputs import Settings
from whylight.core.registry import Spec


class TuningNeededError(SettingError):
    """A metric asked for texts to tune on where there are none."""


@dataclass(frozen=True, slots=True, eq=False)
class MarkedPair:
    """One label of one text.

    Attributes:
        text: Which text it is; a text can have several labels.
        scores: What the method gave, sign and size untouched, `[features]`.
        gold: Which features people marked, `[features]`.
        parts: Which part of the input each feature belongs to, the first or second text of a pair, `[features]`.
    """

    text: str
    scores: Floats
    gold: Bools
    parts: Ints


@dataclass(frozen=True, slots=True, eq=False)
class MarkedCorpus:
    """All marked pairs of a data set, as one method explains them.

    Attributes:
        pairs: The pairs, each with a gold feature.
        weights: How often each draw holds each pair, `[draws, pairs]`; the first holds every pair once.
        others: Pairs of the tuning texts, or None where there are none.
    """

    pairs: tuple[MarkedPair, ...]
    weights: Floats
    others: tuple[MarkedPair, ...] | None = None

    @property
    def tuning(self) -> tuple[MarkedPair, ...]:
        """The pairs to tune on, which share no text with `pairs`.

        Raises:
            TuningNeededError: There are none.
        """
        if self.others is None:
            raise TuningNeededError("this metric learns from other texts than it measures: give texts to tune on.")
        return self.others

    def mean_over_pairs(self, values: Floats) -> Floats:
        """Average one value per pair, `[pairs]`, in each draw, `[draws]`."""
        return np.asarray(self.weights @ values / self.weights.sum(axis=1))

    def mean_over_texts(self, values: Floats) -> Floats:
        """Average one value per pair in each draw; the pairs of a text are averaged before texts are."""
        numbers = _text_numbers(self.pairs)
        shares = self.weights / np.bincount(numbers)[numbers]
        return np.asarray(shares @ values / shares.sum(axis=1))

    def for_each_draw(self, statistic: Callable[[Sequence[MarkedPair]], float]) -> Floats:
        """Ask a function of pairs once per draw, with each pair as often as it is drawn: slow, but simple to use."""
        times = self.weights.astype(np.int64)
        draws = ([pair for pair, n in zip(self.pairs, own, strict=True) for _ in range(n)] for own in times.tolist())
        return np.asarray([statistic(own) for own in draws], dtype=np.float64)


def marked_corpus(
    pairs: Iterable[MarkedPair], tuning: Iterable[MarkedPair] | None = None, *, resamples: int = 0, seed: int = 0
) -> MarkedCorpus:
    """Put pairs together, without those that have no gold feature.

    Args:
        pairs: What is measured.
        tuning: What may be tuned on.
        resamples: How often texts are drawn anew, besides the corpus itself.
        seed: Of the draws.
    """
    found = tuple(pair for pair in pairs if pair.gold.any())
    others = None if tuning is None else tuple(pair for pair in tuning if pair.gold.any())
    if not found:
        raise SettingError("no pair has a rationale: none of their features is gold.")
    numbers = _text_numbers(found)
    texts = int(numbers.max()) + 1
    drawn = np.random.default_rng(seed).integers(texts, size=(resamples, texts))
    weights = np.ones((1 + resamples, len(found)))
    for place, one in enumerate(drawn, start=1):
        weights[place] = np.bincount(one, minlength=texts)[numbers]
    return MarkedCorpus(found, weights, others)


def is_corpus_metric(spec: Spec) -> bool:
    """Say whether a metric is one of a whole corpus, and not of one explanation."""
    return spec.consumes[:1] == (MarkedCorpus,)


def asks_for_tuning(spec: Spec, settings: Settings, *, texts: int = 2) -> bool:
    """Find out whether a corpus metric needs texts to tune on, by trying it on a few texts without any.

    Args:
        spec: The metric.
        settings: Its settings.
        texts: How many texts with a rationale there are; two are as good as more.

    Raises:
        SettingError: The metric cannot be taken over so few texts.
    """
    scores, gold = np.asarray([0.5, 0.3, 0.2]), np.asarray([True, False, False])
    few = [MarkedPair(text, scores, gold, np.zeros(3, dtype=np.int64)) for text in ("one", "other")[:texts]]
    try:
        spec.function(marked_corpus(few, resamples=1), **settings)
    except TuningNeededError:
        return True
    return False


def _text_numbers(pairs: Sequence[MarkedPair]) -> Ints:
    """Return the number of each pair's text, in the order in which texts first come."""
    numbers: dict[str, int] = {}
    return np.asarray([numbers.setdefault(pair.text, len(numbers)) for pair in pairs], dtype=np.int64)
