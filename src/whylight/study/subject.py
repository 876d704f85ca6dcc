"""What is looked at when a model is audited: texts in front of it, and what "removed" may mean.

A text is encoded and classified once. Its answers are kept, so that one analysis finds what another has asked already:
the texts without one word are those of occlusion, of the damage of removing and of the first step of every curve.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from whylight.core.arrays import Bools
from whylight.core.errors import IncompatibleError, InputError
from whylight.core.explanation import Explanation
from whylight.core.inputs import Settings
from whylight.core.labels import ScoreSpace
from whylight.core.registry import METHODS
from whylight.data.dataset import Dataset, Record
from whylight.explaining.bar import progress_bar
from whylight.explaining.case import Case, open_case
from whylight.explaining.options import Options
from whylight.explaining.receipts import explain_case
from whylight.explaining.removing import chosen_removal
from whylight.run.bench import gold_index
from whylight.study.figures import FigureTable, Place
from whylight.views.batch import Removal
from whylight.views.classifier import Classifier
from whylight.views.meter import Meter

SCORE: ScoreSpace = "log_odds"
"""What occlusion explains under every remover, so that two of them differ in the remover alone (Pham et al. 2022)."""
FEWEST_REMOVERS = 2
"""Removers that can be held against each other."""
OTHERS: Settings = {"mode": "top1_excluding_original"}
"""How a masked language model writes words for metrics."""
Look = Callable[[Record, Case], Mapping[Place, float]]
"""Finds the values of one text, by row and column."""


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A model in front of texts.

    Attributes:
        classifier: The model.
        data: The texts.
        cases: The same in front of the model.
        removals: What "removed" may mean, by the name of the remover.
    """

    classifier: Classifier
    data: Dataset
    cases: tuple[Case, ...]
    removals: Mapping[str, Removal]

    def first(self, count: int) -> "Subject":
        """Return the same with the first texts only."""
        return replace(self, data=replace(self.data, records=self.data.records[:count]), cases=self.cases[:count])

    def cheaper(self) -> tuple["Subject", ...]:
        """Return this, and the same without removers that draw several texts, where it still has two others then."""
        plain = {name: one for name, one in self.removals.items() if not one.draws}
        some = len(self.removals) > len(plain) >= FEWEST_REMOVERS
        return (self, replace(self, removals=plain)) if some else (self,)

    def figures(self, title: str, look: Look, *, notes: tuple[str, ...] = ()) -> FigureTable:
        """Look at every text, and put what is found into a table; what exceeds the limits that hold is refused.

        Args:
            title: What the progress bar says.
            look: Finds the values of one text, by row and column.
            notes: What a reader of the numbers has to know.
        """
        plan = [("", case.encoded.n_features) for case in self.cases]
        found: list[Mapping[Place, float]] = []
        with progress_bar(len(plan), shown=True, plan=plan) as step:
            for record, case in zip(self.data, self.cases, strict=True):
                step(title)
                found.append(look(record, case))
        places = dict.fromkeys(place for own in found for place in own)
        values = {place: np.asarray([own.get(place, np.nan) for own in found], dtype=np.float64) for place in places}
        return FigureTable(values, len(found), notes)

    @property
    def measuring(self) -> dict[str, Removal]:
        """What "removed" means to metrics: one that writes words writes others, for one that comes back is not removed.

        Pham et al. 2022's deletion with BERT takes the second likeliest word where the first is the original one.
        """
        return {
            name: replace(one, settings={**one.settings, **OTHERS}) if one.settings.get("mode") == "auto" else one
            for name, one in self.removals.items()
        }

    def options(self, case: Case, remover: str | None = None, score: ScoreSpace | None = None) -> Options:
        """Return what is asked of a method: the predicted labels, and what "removed" means to it."""
        targets = [target.index for target in case.targets("predicted")[0]]
        settings = {} if remover is None else self.removals[remover].settings
        return Options(target=targets, remover=remover, remover_settings=settings, score=score)

    def occlusion(self, case: Case, remover: str) -> Explanation:
        """Score each word by how far the log-odds of the predicted labels fall without it."""
        return explain_case(case, METHODS["occlusion"], {"window": 1}, self.options(case, remover, SCORE))

    def predictions(self, case: Case, removal: Removal, keep: Bools) -> list[set[int]]:
        """Return the labels that the model gives to coalitions."""
        outcomes = self.classifier.outcomes(case.encoded, removal=removal, cache=case.cache, meter=Meter())
        labels = self.classifier.labels
        return [set(labels.above_threshold(row)) for row in labels.probabilities(outcomes(keep))]

    def gold(self, record: Record) -> set[int]:
        """Return the columns of the gold labels of a record."""
        return {gold_index(self.classifier, name) for name in record.labels}


def open_subject(
    classifier: Classifier, data: Dataset, *, removers: Sequence[str], settings: Mapping[str, Mapping[str, object]]
) -> Subject:
    """Classify texts, and check removers.

    Args:
        classifier: What `wl.load` returned.
        data: The texts.
        removers: Names of removers.
        settings: Their settings, by name.
    """
    classifier.labels.require_fixed("an audit")
    if SCORE not in classifier.score_spaces:
        raise IncompatibleError("an audit explains the log-odds of labels, and a regression model gives values alone.")
    if not len(data):
        raise InputError(f"'{data.name}' ({data.split}) has no text to look at.")
    removals = {name: chosen_removal(classifier, name, settings.get(name)) for name in removers}
    kept: list[tuple[Record, Case]] = []
    with progress_bar(len(data), shown=True) as step:
        for record in data:
            step("classifying")
            case = open_case(classifier, record.example)
            kept += [(record, case)] if case.encoded.n_features else []
    if not kept:
        raise InputError(f"no text of '{data.name}' ({data.split}) has a word.")
    records, cases = zip(*kept, strict=True)
    return Subject(classifier, replace(data, records=records), cases, removals)
