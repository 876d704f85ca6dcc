"""Do removers name the same words? Occlusion under one remover beside occlusion under another, text by text.

    order       Kendall's tau between the scores of the words
    first word  whether both score the same word highest

The text on which they agree least is kept as an example.
Reference: Pham et al. 2022, figures 1 to 3. Cost: what occlusion costs, which other analyses share.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from whylight.core.explanation import Explanation
from whylight.core.registry import METRICS
from whylight.data.dataset import Record
from whylight.explaining.case import Case
from whylight.metrics._curves import ranked_features
from whylight.study.figures import FigureTable, Place, finite_mean
from whylight.study.subject import Subject

ORDER, FIRST = "order", "first word"
SHOWN = 3
"""Words of the example under each remover."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The text on which removers agree least.

    Attributes:
        id: Its name in the data.
        text: The text itself.
        label: The label that is explained.
        words: By remover: the highest words and their log-odds.
    """

    id: str
    text: str
    label: str
    words: Mapping[str, tuple[tuple[str, float], ...]]


def remover_agreement(subject: Subject) -> tuple[FigureTable, Disagreement | None]:
    """Measure how far two removers agree about the words, and find the text on which they do least.

    Args:
        subject: The model, texts and at least two removers.
    """
    taus: list[tuple[float, Record, dict[str, Explanation]]] = []

    def look(record: Record, case: Case) -> Mapping[Place, float]:
        own = {name: subject.occlusion(case, name) for name in subject.removals}
        found = {}
        for one, other in combinations(own, 2):
            found[_both_names(one, other), ORDER] = finite_mean(METRICS["kendall_tau"].function(own[one], own[other]))
            same = [_top(own[one], number)[0] == _top(own[other], number)[0] for number in _target_numbers(own[one])]
            found[_both_names(one, other), FIRST] = float(np.mean(same))
        orders = [value for (_, column), value in found.items() if column == ORDER and np.isfinite(value)]
        if orders:
            taus.append((min(orders), record, own))
        return found

    figures = subject.figures("do removers agree", look)
    return figures, _disagreement(*min(taus, key=lambda one: one[0])[1:]) if taus else None


def _both_names(one: str, other: str) -> str:
    return f"{one} and {other}"


def _target_numbers(explanation: Explanation) -> range:
    return range(len(explanation.targets))


def _top(explanation: Explanation, number: int) -> list[int]:
    ranked: list[int] = ranked_features(explanation.row(explanation.targets[number])).tolist()
    return ranked


def _disagreement(record: Record, explained: Mapping[str, Explanation]) -> Disagreement:
    first = next(iter(explained.values()))
    target = first.targets[0]
    words = {
        name: tuple((own.example.show(own.places[i]), float(own.row(target)[i])) for i in _top(own, 0)[:SHOWN])
        for name, own in explained.items()
    }
    text = " ".join(first.example.show(place) for place in first.places)
    return Disagreement(record.id, text, target.label, words)
