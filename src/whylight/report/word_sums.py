"""Which words drive each label over many texts: what each word scored, wherever it stands.

    mean = sum of scores / count     spread = sqrt(sum (score - mean)^2 / count)     total = sum |score|

Words that differ in upper and lower case alone are one. They are ranked by `total`: a word that is often there, and
matters where it is, comes before one that mattered once.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.explanation import Explanation
from whylight.report.cards import variants_of
from whylight.report.run_rows import BASELINES
from whylight.run.evaluation import Evaluation
from whylight.store.explanations import explanation_of

LabelWords = dict[str, list["WordSum"]]
"""By label: its words, the strongest first."""


@dataclass(frozen=True, slots=True, eq=False)
class WordSum:
    """What a word scored.

    Attributes:
        word: The word, as it is written most often.
        scores: Its score wherever it stands, in the order of the texts, `[count]`.
    """

    word: str
    scores: Floats

    @property
    def count(self) -> int:
        """How often it stands there."""
        return len(self.scores)

    @property
    def mean(self) -> float:
        """The mean of its scores."""
        return float(self.scores.mean())

    @property
    def spread(self) -> float:
        """Their standard deviation; 0 of one score."""
        return float(self.scores.std())

    @property
    def total(self) -> float:
        """The sum of what they are without their sign, by which words are ranked."""
        return float(np.abs(self.scores).sum())


def methods_of(given: Evaluation | Sequence[Explanation]) -> list[str]:
    """Return the methods that explain, `random` and `human` aside."""
    if isinstance(given, Evaluation):
        return [name for name in dict.fromkeys(row["method"] for row in given.explanations) if name not in BASELINES]
    return list(dict.fromkeys(_names_of(given)))


def explained_by(given: Evaluation | Sequence[Explanation], method: str) -> Iterator[Explanation]:
    """Yield the explanations of one method, as many as there are rows for them."""
    if isinstance(given, Evaluation):
        yield from (explanation_of(row) for row in given.explanations if row["method"] == method)
    else:
        yield from (one for one, name in zip(given, _names_of(given), strict=True) if name == method)


def _names_of(given: Sequence[Explanation]) -> list[str]:
    """Name explanations by their methods; a layer is one of its own, as are settings if some input has several."""
    named = zip(given, variants_of(given), strict=True)
    return [one.provenance.method + (f" ({variant})" if variant else "") for one, variant in named]


def word_sums(explanations: Iterable[Explanation]) -> LabelWords:
    """Gather what each word scored for each label."""
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    for one in explanations:
        words = [" ".join(one.example.show(place).split()) for place in one.places]
        for word in words:
            forms[word.casefold()][word] += 1
        for target in one.targets:
            for word, score in zip(words, one.row(target), strict=True):
                scores[target.label][word.casefold()].append(float(score))
    return {
        label: sorted(
            (WordSum(forms[key].most_common(1)[0][0], np.asarray(own)) for key, own in by.items()),
            key=lambda word: -word.total,
        )
        for label, by in scores.items()
    }
