"""The result: scores for places of an input, with the receipt that says how they came about."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from whylight.core import printable, showing
from whylight.core.arrays import Bools, Floats
from whylight.core.errors import WhylightError, listed, unknown
from whylight.core.inputs import Input, Settings, kind_named, named_numbers, numbers_of, own_places, place_of
from whylight.core.labels import MOST_SHOWN, Target
from whylight.core.series import Series


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the classifier says of the untouched example.

    Attributes:
        index: Column of the most probable label.
        label: Its name.
        probability: Its probability; None in a regression, where the label is the first value.
        probabilities: Probabilities of all labels; none in a regression.
        predicted: Columns of all labels that it predicts, most probable first; several only in a multi-label model.
        threshold: Probability above which a label is predicted, in a multi-label model; None in others.
        values: What a regression says, one number per column; empty for classifiers.
    """

    index: int
    label: str
    probability: float | None
    probabilities: tuple[float, ...]
    predicted: tuple[int, ...]
    threshold: float | None = None
    values: tuple[float, ...] = ()

    @property
    def answers(self) -> tuple[float, ...]:
        """What was said of each column: its probability, or the value of a regression."""
        return self.values or self.probabilities


@dataclass(frozen=True, slots=True)
class Provenance:
    """The receipt of an explanation: everything needed to read it rightly or to make it again.

    Attributes:
        model: Identity of the classifier.
        method: Name of the method.
        settings: Every setting of the method, defaults included; also the seed, where there is one.
        unit: What a feature is: `word`, `token` or `sentence`.
        remover: What "removed" meant, or None where the method removes nothing.
        score: The score space that was explained.
        signed: Whether negative scores mean evidence against the target.
        class_specific: False where the one row of scores holds for every target alike.
        forward_passes: Distinct input rows that the method needed, as if nothing had been cached.
        backward_passes: Rows that gradients were propagated through.
        seconds: Wall-clock time, as if nothing had been cached.
        completeness_gap: Per target, sum of scores minus (score of the input - score of the baseline), where promised.
        notes: What else happened, e.g. how a long text was cut.
        remover_settings: Every setting of the remover.
    """

    model: str
    method: str
    settings: Settings
    unit: str
    remover: str | None
    score: str
    signed: bool
    class_specific: bool
    forward_passes: int
    backward_passes: int
    seconds: float
    completeness_gap: tuple[float, ...] | None = None
    notes: tuple[str, ...] = ()
    remover_settings: Settings = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Signs:
    """Which features speak for each target, by a method that has a sign; evidence of a method without one needs that.

    Attributes:
        method: The method that was asked, once for all explanations of an input.
        supports: Whether a feature speaks for a target, `[targets, features]`.
        forward_passes: Distinct input rows that it needed.
        backward_passes: Rows that gradients were propagated through.
        seconds: Wall-clock time.
    """

    method: str
    supports: Bools
    forward_passes: int
    backward_passes: int
    seconds: float

    @property
    def cost(self) -> dict[str, Any]:
        """The method and what it took, JSON-ready."""
        return {name: value for name, value in _plain(self).items() if name != "supports"}

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as a JSON-ready object."""
        return {**self.cost, "supports": self.supports.tolist()}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "Signs":
        """Make signs of what `to_dict` returned."""
        return cls(**{**given, "supports": np.asarray(given["supports"], dtype=bool)})


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Scores `[targets, features]` for the features of an example.

    Attributes:
        example: What was explained.
        places: Where each feature stands; spans of characters in a text.
        targets: The labels that were explained; all share one row where the method is not class-specific.
        scores: Raw scores, signed where the method is signed.
        prediction: The classifier's own answer.
        provenance: The receipt.
        signs: What speaks for each target, by another method; None where scores have a sign of their own, or nobody
            says.
    """

    example: Input
    places: tuple[Any, ...]
    targets: tuple[Target, ...]
    scores: Floats
    prediction: Prediction
    provenance: Provenance
    signs: Signs | None = None

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save

    @property
    def spans(self) -> tuple[Any, ...]:
        """The places, as they are called in texts."""
        return self.places

    def row(self, target: Target) -> Floats:
        """Return the scores of one target, `[features]`."""
        row: Floats = self.scores[self.targets.index(target) if self.provenance.class_specific else 0]
        return row

    def as_list(self, target: str | int | None = None) -> list[tuple[str, float]]:
        """Return (what stands at the feature, score) pairs in the order of the input.

        Args:
            target: A label or index among the explained ones; may be left out when there is only one.
        """
        row = self.row(self.the_target(target))
        return [(self.example.show(place), float(value)) for place, value in zip(self.places, row, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as one JSON-ready object, of which `from_dict` makes the same explanation."""
        gap = self.provenance.completeness_gap
        return {
            "kind": self.example.kind,
            "input": self.example.to_json(),
            "places": [] if self.places == own_places(self.example) else [numbers_of(place) for place in self.places],
            "targets": [asdict(target) for target in self.targets],
            "scores": self.scores.tolist(),
            "prediction": _plain(self.prediction),
            **_plain(self.provenance),
            "completeness_gap": None if gap is None else list(gap),
            "signs": None if self.signs is None else self.signs.to_dict(),
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "Explanation":
        """Make an explanation of what `to_dict` returned."""
        kind, gap, signs = kind_named(given["kind"]), given["completeness_gap"], given.get("signs")
        receipt = {one.name: given[one.name] for one in fields(Provenance)}
        receipt |= {"notes": tuple(given["notes"]), "completeness_gap": None if gap is None else tuple(gap)}
        answer = dict(given["prediction"])
        answer |= {name: tuple(answer[name]) for name in ("probabilities", "predicted", "values") if name in answer}
        example = kind.from_json(given["input"])
        places = tuple(place_of(kind, numbers) for numbers in given["places"])
        return cls(
            example=example,
            places=places or own_places(example) or (),
            targets=tuple(Target(**target) for target in given["targets"]),
            scores=np.asarray(given["scores"], dtype=np.float64),
            prediction=Prediction(**answer),
            provenance=Provenance(**receipt),
            signs=None if signs is None else Signs.from_dict(signs),
        )

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one JSON-ready object for each target, in the form of `whylight explain --format json`."""
        return [self._as_dict(number, target) for number, target in enumerate(self.targets)]

    def to_json(self) -> str:
        """Return JSON lines, one object for each target."""
        return "\n".join(printable.to_json(one) for one in self.to_dicts())

    def the_target(self, target: str | int | None) -> Target:
        """Return the target of a label or index among the explained ones; None is the only one."""
        if target is None and len(self.targets) == 1:
            return self.targets[0]
        named = [one for one in self.targets if one.label == target]
        found = named or [one for one in self.targets if one.index == target]
        if len(found) == 1:
            return found[0]
        names = [f"{one.label} ({one.index})" if found else one.label for one in self.targets]
        if target is not None and not found:
            raise unknown("target of this explanation", target, names, most=MOST_SHOWN)
        every = printable.one_line(listed(names, most=MOST_SHOWN))
        raise WhylightError(f"say which target you mean{' by its number' if found else ''}: {every}.")

    def _as_dict(self, number: int, target: Target) -> dict[str, Any]:
        receipt, answer, gap = self.provenance, self.prediction, self.provenance.completeness_gap
        return {
            "kind": self.example.kind,
            **self.example.to_json(),
            "model": receipt.model,
            "method": receipt.method,
            "settings": dict(receipt.settings),
            "unit": receipt.unit,
            "remover": receipt.remover,
            "remover_settings": dict(receipt.remover_settings),
            "score": receipt.score,
            "signed": receipt.signed,
            "class_specific": receipt.class_specific,
            "target": {
                "index": target.index,
                "label": target.label,
                "description": target.description,
                "probability": None if answer.values else answer.probabilities[target.index],
                "threshold": answer.threshold,
                **({"value": answer.values[target.index]} if answer.values else {}),
            },
            "prediction": {
                "index": answer.index,
                "label": answer.label,
                "probability": answer.probability,
                **({"value": answer.values[answer.index]} if answer.values else {}),
            },
            "features": [
                {**named_numbers(place), "text": self.example.show(place), "score": float(value)}
                for place, value in zip(self.places, self.row(target), strict=True)
            ],
            "completeness_gap": None if gap is None else gap[number],
            "seconds": receipt.seconds,
            "forward_passes": receipt.forward_passes,
            "backward_passes": receipt.backward_passes,
            "notes": list(receipt.notes),
        }


class Explanations(Series[Explanation]):
    """Several explanations, as a list: of several texts, by several methods, or at several layers."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  it always raises
        one = f"; one of them has it: [0].{name}" if hasattr(Explanation, name) else ""
        raise AttributeError(f"a list of explanations has no '{name}'{one}")


def _plain(record: Prediction | Provenance | Signs) -> dict[str, Any]:
    """Return the fields of a record, tuples as lists and mappings as dictionaries."""
    values = ((one.name, getattr(record, one.name)) for one in fields(record))
    return {
        name: list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
        for name, value in values
    }
