"""Labels, targets and score spaces: what a column of model output means.

A head is `softmax` (one label applies), `sigmoid` (each label applies or not) or `binary` (one logit z, read as the two
columns -z and z). A `regression` is none of these: its columns are values. They have no probability, and the value
itself is their only score, under the name `logit`. Every classifier hands over logits in this sense; a callable that
only knows probabilities hands over ones that give back its probabilities, and declares that the `logit` score does not
exist for it. Labels of a language model that writes freely are texts (`likelihood`): a logit is the
log-probability of one, and the first is its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Literal, get_args

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.errors import IncompatibleError, InputError, SettingError, unknown

Head = Literal["softmax", "sigmoid", "binary", "regression", "likelihood"]
ScoreSpace = Literal["logit", "probability", "log_odds", "log_probability", "log_sigmoid", "log_mixture"]
HEADS: tuple[Head, ...] = ("softmax", "sigmoid", "binary", "regression")
"""Heads that a user may name; `likelihood` is that of a language model that writes freely."""
SCORE_SPACES: tuple[ScoreSpace, ...] = get_args(ScoreSpace)
OF_LOGITS: tuple[ScoreSpace, ...] = ("logit", "log_sigmoid", "log_mixture")
"""Scores that probabilities do not say: those of a softmax stay the same if all logits rise."""
OF_ONE_LABEL: tuple[ScoreSpace, ...] = ("logit", "log_sigmoid")
"""Scores of a label that do not depend on other labels, whatever the head."""
MIXTURE = 0.9
"""Share of the probability in `log_mixture`; the rest is the sigmoid of the logit (Brinner and Zarriess 2023)."""
CLIP = 1e-7
"""Probabilities are kept this far from 0 and 1 before log-odds are taken."""
_TINY = 1e-30
DEFAULT_THRESHOLD = 0.5
NO_PROBABILITIES = "a regression model gives a value, and no probability; what needs one does not work with it."
MOST_SHOWN = 10
"""Columns that a message lists."""
GENERATED = "generated"
"""The target that is what a language model writes."""
WRITTEN = "written by the model"
"""What describes that target."""

TargetSpec = str | int | Sequence[str | int]


@dataclass(frozen=True, slots=True)
class Target:
    """One label that is explained: its column, its name, and what it stands for, if anybody says."""

    index: int
    label: str
    description: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of a classifier and how its output decides between them.

    Attributes:
        names: One name a column.
        head: How logits become probabilities and predictions.
        threshold: Probability above which a label of a `sigmoid` head is predicted.
        descriptions: What each column stands for, in words, None where nobody says; empty if nobody says anything.
    """

    names: tuple[str, ...]
    head: Head = "softmax"
    threshold: float = DEFAULT_THRESHOLD
    descriptions: tuple[str | None, ...] = ()

    def __post_init__(self) -> None:
        check_threshold(self.threshold)

    def __len__(self) -> int:
        return len(self.names)

    def target(self, index: int) -> Target:
        """Return a column as a target."""
        return Target(index, self.names[index], self.descriptions[index] if self.descriptions else None)

    @property
    def score_spaces(self) -> tuple[ScoreSpace, ...]:
        """The score spaces that exist for logits of this head, default first."""
        if self.open:
            return ("log_probability", "probability", "log_odds")
        return ("logit",) if self.head == "regression" else SCORE_SPACES

    def probabilities(self, logits: Floats) -> Floats:
        """Turn logits `[..., labels]` into probabilities.

        Raises:
            IncompatibleError: They are values of a regression.
        """
        if self.head == "regression":
            raise IncompatibleError(NO_PROBABILITIES)
        from scipy.special import expit, softmax  # noqa: PLC0415  a third of the time that `--help` would take

        if self.open:
            return np.asarray(np.exp(np.minimum(logits, 0.0)), dtype=np.float64)  # above 0 there is rounding alone
        values = softmax(logits, axis=-1) if self.head == "softmax" else expit(logits)
        return np.asarray(values, dtype=np.float64)

    def logits_of(self, probabilities: Floats) -> Floats:
        """Return logits `[..., labels]` that give back probabilities; 0 and 1 are kept from by next to nothing."""
        if self.head == "softmax" or self.open:
            return np.asarray(np.log(np.maximum(probabilities, _TINY)))
        inside = np.clip(probabilities, _TINY, 1 - np.finfo(np.float64).epsneg)
        return np.asarray(np.log(inside) - np.log1p(-inside))

    def averaged(self, logits: Floats, weights: Floats) -> Floats:
        """Return logits `[rows, labels]` of the weighted mean of probabilities.

        Args:
            logits: Of several draws per row, `[rows, draws, labels]`.
            weights: How much each draw counts, `[rows, draws]`; they sum to 1.
        """
        return self.logits_of((self.probabilities(logits) * weights[..., None]).sum(axis=1))

    def scores(self, logits: Floats, space: ScoreSpace) -> Floats:
        """Turn logits `[..., labels]` into scores of the given space."""
        if space not in self.score_spaces:
            raise IncompatibleError(NO_PROBABILITIES)
        if space == "logit":
            return logits
        if space == "log_probability":
            return self._log_probabilities(logits)
        if space == "log_sigmoid":
            return _log_sigmoid(logits)
        if space == "log_mixture":
            shares = np.log(MIXTURE) + self._log_probabilities(logits), np.log(1 - MIXTURE) + _log_sigmoid(logits)
            return np.asarray(np.logaddexp(*shares), dtype=np.float64)
        probabilities = self.probabilities(logits)
        if space == "probability":
            return probabilities
        clipped = np.clip(probabilities, CLIP, 1 - CLIP)
        return np.asarray(np.log(clipped) - np.log1p(-clipped))

    def _log_probabilities(self, logits: Floats) -> Floats:
        from scipy.special import log_softmax  # noqa: PLC0415  as above

        if self.open:
            return logits
        if self.head == "softmax":
            return np.asarray(log_softmax(logits, axis=-1), dtype=np.float64)
        return _log_sigmoid(logits)

    def above_threshold(self, probabilities: Floats) -> tuple[int, ...]:
        """Return the columns that apply, most probable first: the best one, or of a `sigmoid` head all that pass.

        All columns of a regression apply: each is a value that the model gives.
        """
        if self.head == "regression":
            return tuple(range(len(self)))
        if self.head != "sigmoid":
            return (self.best(probabilities),)
        order = np.argsort(-probabilities, kind="stable")
        return tuple(int(i) for i in order if probabilities[i] > self.threshold)

    def best(self, probabilities: Floats) -> int:
        """Return the column of a classifier's answer: the most probable label, or the text that it writes itself."""
        return 0 if self.open else int(np.argmax(probabilities))

    @property
    def open(self) -> bool:
        """Whether labels are texts, of which each input has its own."""
        return self.head == "likelihood"

    def require_fixed(self, work: str) -> None:
        """Refuse work that holds texts against each other by their labels, where each has its own."""
        if self.open:
            raise SettingError(
                f"{work} needs labels that are the same for all texts, and a language model that writes has none; "
                "give its prompt answers."
            )

    @property
    def linear(self) -> ScoreSpace:
        """The score that is what a model hands over, and so the mean over the windows of a long text."""
        return "log_probability" if self.open else "logit"

    @property
    def repeated(self) -> dict[str, list[int]]:
        """The names that several columns share, with those columns."""
        columns: dict[str, list[int]] = {}
        for column, name in enumerate(self.names):
            columns.setdefault(name, []).append(column)
        return {name: own for name, own in columns.items() if len(own) > 1}

    def predicted(self, probabilities: Floats) -> tuple[list[int], list[str]]:
        """Return the predicted columns of one example, most probable first, and notes on how they came about."""
        above = self.above_threshold(probabilities)
        if above:
            return list(above), []
        note = f"no label is above its threshold {self.threshold:g}; the most probable one is explained"
        return [int(np.argmax(probabilities))], [note]

    def resolve(self, spec: TargetSpec, answers: Floats) -> tuple[tuple[Target, ...], list[str]]:
        """Find the columns that a target specification names.

        Args:
            spec: `"predicted"`, `"all"`, a label, an index, or a list of labels and indices.
            answers: Probabilities of the untouched example, or values of a regression, `[labels]`.

        Returns:
            The targets without repetition, and notes for the receipt.
        """
        notes: list[str] = []
        if spec == "predicted":
            indices, notes = self.predicted(answers)
        elif spec == "all":
            indices = list(range(len(self)))
        elif spec in ("gold", "gold+predicted"):
            raise InputError(f"the target '{spec}' needs labelled data, and a bare text has no gold label.")
        elif isinstance(spec, str | Integral):
            indices = [self.index(spec)]
        elif isinstance(spec, Sequence):
            indices = [self.index(one) for one in spec]
        else:
            indices = [self.index(spec)]
        if not indices:
            raise SettingError("the list of targets is empty; give at least one label or index.")
        return tuple(map(self.target, dict.fromkeys(indices))), notes

    def index(self, label: str | int | Integral) -> int:
        """Return the column of a label name or index; names go first, so a label called '1' can be reached."""
        if not isinstance(label, str | Integral):
            known = ", ".join((*self.names[:50], "predicted", "all"))
            raise SettingError(f"a target is a label ({known}), an index or a list of these, not {label!r}.")
        columns = [i for i, name in enumerate(self.names) if name == label]
        if len(columns) > 1:
            numbers = ", ".join(map(str, columns[:MOST_SHOWN]))
            raise SettingError(f"{len(columns)} labels are called '{label}'; say which by its number: {numbers}.")
        if columns:
            return columns[0]
        if self.open and label in (GENERATED, "predicted"):
            return 0
        if label == GENERATED:
            raise SettingError(
                "the target 'generated' is what a language model writes: load it with a prompt that has no answers, "
                "e.g. prompt='question'."
            )
        try:
            index = int(label)
        except ValueError:
            raise unknown("label", label, (*self.names[:50], "predicted", "all")) from None
        if not 0 <= index < len(self):
            raise SettingError(f"there is no label {index}; the model has {len(self)} labels, 0 to {len(self) - 1}.")
        return index


def texts_asked(spec: TargetSpec) -> tuple[str, ...]:
    """Return the texts that a target names beside what a model writes itself, each once."""
    words = (GENERATED, "predicted")
    if isinstance(spec, str):
        return () if spec in (*words, "all", "gold", "gold+predicted") else (spec,)
    listed = spec if isinstance(spec, Sequence) else ()
    return tuple(dict.fromkeys(one for one in listed if isinstance(one, str) and one not in words))


def asked_again(targets: Iterable[Target]) -> list[str]:
    """Return the target that names texts which were explained before."""
    return [GENERATED if one.description == WRITTEN else one.label for one in targets]


def _log_sigmoid(logits: Floats) -> Floats:
    from scipy.special import log_expit  # noqa: PLC0415  as above

    return np.asarray(log_expit(logits), dtype=np.float64)


def check_threshold(value: object) -> float:
    """Return a decision threshold if it is a probability, else say what it must be."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise SettingError(f"the decision_threshold is {value!r}; it must be a number from 0 to 1.")
    return float(value)


def check_score_space(name: str) -> ScoreSpace:
    """Return the name if it is a score space, else raise the error that lists them."""
    if name not in SCORE_SPACES:
        raise unknown("score", name, SCORE_SPACES)
    return name
