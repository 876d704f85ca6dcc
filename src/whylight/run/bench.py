"""A record in front of a classifier: which labels are looked at, and what is to be found out."""

from collections.abc import Sequence
from dataclasses import dataclass

from whylight.core.errors import InputError
from whylight.core.labels import Target
from whylight.core.rationale import Rationale
from whylight.data.dataset import Record
from whylight.explaining.case import Case, open_case
from whylight.run.plan import Plan
from whylight.store.columns import EXPLAINED, Cells
from whylight.store.tables import Row
from whylight.views.classifier import Classifier


@dataclass(frozen=True, slots=True)
class Task:
    """One record, and what is to be found out about it.

    Attributes:
        record: The record.
        lacking: The cells that have to be filled.
        known: Rows of explanations that there are of it already.
    """

    record: Record
    lacking: Cells
    known: Sequence[Row] = ()

    def lacks(self, method: str) -> bool:
        """Say whether the record has to be explained by a method, by its name in tables."""
        return (method, EXPLAINED) in self.lacking


@dataclass(frozen=True, slots=True)
class Bench:
    """One record in front of the classifier, with what its measurements share.

    Attributes:
        case: The record's example in front of the classifier.
        measured: The labels whose faithfulness is measured.
        gold: The gold labels that have a rationale.
        correct: Whether the model is right about each label; None where the record has no gold label.
    """

    case: Case
    measured: tuple[Target, ...]
    gold: dict[Target, Rationale]
    correct: dict[Target, bool | None]

    @property
    def targets(self) -> list[Target]:
        """Every label that is explained."""
        return list(dict.fromkeys([*self.measured, *self.gold]))


def open_bench(classifier: Classifier, record: Record, plan: Plan) -> Bench:
    """Classify a record and find the labels to explain."""
    of_gold, options = plan.options.target == "gold", plan.options
    texts = [name for name in record.labels if of_gold or name in record.rationales]
    case = open_case(classifier, record.example, unit=options.unit, long=options.long, target=texts)
    own = case.classifier.labels
    # where labels are texts, one that nobody asks about has no column; the model wrote another, or it would have
    indices = {name: gold_index(case.classifier, name) for name in record.labels if not own.open or name in own.names}
    labels = {name: own.target(index) for name, index in indices.items()}
    gold = {target: record.rationales[name] for name, target in labels.items() if name in record.rationales}
    measured = tuple(dict.fromkeys(labels.values())) if of_gold else case.targets("predicted")[0]
    true, applies = set(indices.values()), set(case.prediction.predicted)
    known = bool(record.labels)
    correct = {t: (t.index in true) == (t.index in applies) if known else None for t in (*measured, *gold)}
    return Bench(case, measured, gold, correct)


def gold_index(classifier: Classifier, name: str) -> int:
    """Return the column of a gold label, or say that data and model do not speak of the same labels."""
    columns = [i for i, label in enumerate(classifier.labels.names) if label.casefold() == name.casefold()]
    columns = [i for i in columns if classifier.labels.names[i] == name] or columns
    if len(columns) > 1:
        raise InputError(f"the data has the label '{name}', and the model has {len(columns)} labels of that name.")
    if not columns:
        known = ", ".join(classifier.labels.names[:20])
        raise InputError(
            f"the data has the label '{name}', which the model does not know; it has {known}. If it stands for one of "
            f"them, say so: --map-label {name}=NAME, in Python wl.dataset(..., labels={{'{name}': ...}})."
        )
    return columns[0]
