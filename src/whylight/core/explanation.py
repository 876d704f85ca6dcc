"""The result: scores for spans of the text, with the receipt that says how they came about."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from whylight.core import printable
from whylight.core.arrays import Floats
from whylight.core.errors import WhylightError
from whylight.core.evidence import SPANS, evidence as evidence_for
from whylight.core.example import Example, Span
from whylight.core.labels import Target

if TYPE_CHECKING:
    import pandas as pd

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the classifier says of the untouched example.

    Attributes:
        index: Column of the most probable label.
        label: Its name.
        probability: Its probability.
        probabilities: Probabilities of all labels.
        predicted: Columns of all labels that it predicts, most probable first; several only in a multi-label model.
        threshold: Probability above which a label is predicted, in a multi-label model; None in others.
    """

    index: int
    label: str
    probability: float
    probabilities: tuple[float, ...]
    predicted: tuple[int, ...]
    threshold: float | None = None


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
    """

    model: str
    method: str
    settings: Mapping[str, JsonValue]
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


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Scores `[targets, features]` for the features of an example.

    Attributes:
        example: What was explained.
        spans: One character span a feature.
        targets: The labels that were explained; all share one row where the method is not class-specific.
        scores: Raw scores, signed where the method is signed.
        prediction: The classifier's own answer.
        provenance: The receipt.
    """

    example: Example
    spans: tuple[Span, ...]
    targets: tuple[Target, ...]
    scores: Floats
    prediction: Prediction
    provenance: Provenance = field(repr=False)

    html_renderer: ClassVar[Callable[["Explanation"], str] | None] = None
    """Set by the package, because rendering lives in a layer above this one."""

    def row(self, target: Target) -> Floats:
        """Return the scores of one target, `[features]`."""
        row: Floats = self.scores[self.targets.index(target) if self.provenance.class_specific else 0]
        return row

    def as_list(self, target: str | int | None = None) -> list[tuple[str, float]]:
        """Return (feature text, score) pairs in reading order.

        Args:
            target: A label or index among the explained ones; may be left out when there is only one.
        """
        row = self.row(self._one(target))
        return [(self.example.slice(s), float(v)) for s, v in zip(self.spans, row, strict=True)]

    def to_dicts(self, *, evidence: int = SPANS) -> list[dict[str, Any]]:
        """Return one JSON-ready object a target, in the form of `whylight explain --format json`.

        Args:
            evidence: How many evidence spans a target has at most; with 0 nobody looks, and they are None.
        """
        return [self._as_dict(number, target, evidence) for number, target in enumerate(self.targets)]

    def to_json(self, *, evidence: int = SPANS) -> str:
        """Return JSON lines, one object a target.

        Args:
            evidence: As in `to_dicts`.
        """
        return "\n".join(printable.to_json(one) for one in self.to_dicts(evidence=evidence))

    def to_frame(self) -> "pd.DataFrame":
        """Return a pandas frame with one row for each target and feature."""
        try:
            import pandas as pd  # noqa: PLC0415  an optional dependency, needed here alone
        except ImportError:
            raise WhylightError("to_frame needs pandas: pip install 'whylight[frame]'.") from None
        columns = ("method", "target", "part", "start", "end", "text", "score")
        rows = [
            (one["method"], one["target"]["label"], *(feature[name] for name in columns[2:]))
            for one in self.to_dicts(evidence=0)
            for feature in one["features"]
        ]
        return pd.DataFrame(rows, columns=list(columns))

    def _repr_html_(self) -> str | None:
        return None if self.html_renderer is None else self.html_renderer()

    def _one(self, target: str | int | None) -> Target:
        if target is None and len(self.targets) == 1:
            return self.targets[0]
        named = [one for one in self.targets if one.label == target]
        found = named or [one for one in self.targets if one.index == target]
        if len(found) == 1:
            return found[0]
        known = ", ".join(f"{one.label} ({one.index})" if found else one.label for one in self.targets)
        raise WhylightError(f"say which target you mean{' by its number' if found else ''}: {known}.")

    def _as_dict(self, number: int, target: Target, evidence: int) -> dict[str, Any]:
        receipt, gap = self.provenance, self.provenance.completeness_gap
        probability, threshold = self.prediction.probabilities[target.index], self.prediction.threshold
        return {
            "text": self.example.text,
            "pair": self.example.pair,
            "model": receipt.model,
            "method": receipt.method,
            "settings": dict(receipt.settings),
            "unit": receipt.unit,
            "remover": receipt.remover,
            "score": receipt.score,
            "signed": receipt.signed,
            "class_specific": receipt.class_specific,
            "target": {
                "index": target.index,
                "label": target.label,
                "probability": probability,
                "threshold": threshold,
            },
            "prediction": {
                "index": self.prediction.index,
                "label": self.prediction.label,
                "probability": self.prediction.probability,
            },
            "features": [
                {"part": s.part, "start": s.start, "end": s.end, "text": self.example.slice(s), "score": float(v)}
                for s, v in zip(self.spans, self.row(target), strict=True)
            ],
            "evidence": self._evidence(target, evidence) if evidence else None,
            "completeness_gap": None if gap is None else gap[number],
            "seconds": receipt.seconds,
            "forward_passes": receipt.forward_passes,
            "backward_passes": receipt.backward_passes,
            "notes": list(receipt.notes),
        }

    def _evidence(self, target: Target, spans: int) -> list[dict[str, Any]]:
        return [
            {
                "part": one.part,
                "start": one.start,
                "end": one.end,
                "text": self.example.slice(one.span),
                "score": one.score,
                "before": one.before,
                "after": one.after,
            }
            for one in evidence_for(self, target, spans=spans)
        ]
