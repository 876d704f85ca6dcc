"""A case: one example in front of one classifier, with everything that its explanations share."""

from collections.abc import MutableMapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.encoded import Encoded, Long, Unit
from whylight.core.errors import InputError
from whylight.core.explanation import Prediction
from whylight.core.inputs import Input
from whylight.core.labels import MOST_SHOWN, Labels, Target, TargetSpec, texts_asked
from whylight.explaining.removing import chosen_removal
from whylight.views.cache import BoundedCache
from whylight.views.classifier import Classifier, Individual, unit_for
from whylight.views.meter import Meter

SAME = 1e-4
"""Logits that lie no further apart, beside a logit of 1, are the same answer: rounding reaches about 1e-6."""


_ANSWERS: MutableMapping[Classifier, list[str]] = WeakKeyDictionary()
"""What was found when a classifier was asked about its first text once more."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One example, encoded once and classified once.

    Attributes:
        classifier: The classifier.
        encoded: Features and windows.
        long: What happens to a text that does not fit.
        prediction: The classifier's answer to the untouched example.
        cache: Answers that methods and metrics share.
        notes: What every receipt must say about the classifier's answers.
    """

    classifier: Classifier
    encoded: Encoded
    long: Long
    prediction: Prediction
    cache: BoundedCache = field(default_factory=BoundedCache)
    notes: tuple[str, ...] = ()

    def targets(self, spec: TargetSpec) -> tuple[tuple[Target, ...], list[str]]:
        """Resolve a target specification on the untouched example."""
        return self.classifier.labels.resolve(spec, np.asarray(self.prediction.answers))


def open_case(
    classifier: Classifier,
    example: Input,
    *,
    unit: Unit | None = None,
    long: Long = "window",
    target: TargetSpec = "predicted",
) -> Case:
    """Encode an example and ask the classifier for its answer.

    Args:
        classifier: The classifier.
        example: The example.
        unit: What a feature is; by default, what the classifier says.
        long: What happens to a text that does not fit.
        target: What will be explained: where labels are texts, those that it names are among them.
    """
    if example.kind != classifier.reads:
        raise InputError(f"{classifier.kind} reads inputs of the kind '{classifier.reads}', not '{example.kind}'.")
    encoded, general = classifier.encode(example, unit=unit_for(classifier, unit), long=long), classifier
    said: tuple[str, ...] = ()
    if isinstance(classifier, Individual):
        classifier, said = classifier.about(encoded, texts_asked(target))
    cache = BoundedCache()
    logits = _untouched_logits(classifier, encoded, cache)
    prediction = _prediction(classifier.labels, logits)
    if general not in _ANSWERS:
        _ANSWERS[general] = _other_answers(classifier, encoded, cache)
    notes = (*_repeated_names(classifier), *_ANSWERS[general], *said)
    return Case(classifier, encoded, long, prediction, cache, notes)


def _prediction(labels: Labels, logits: Floats) -> Prediction:
    if labels.head == "regression":
        values = tuple(logits.tolist())
        return Prediction(0, labels.names[0], None, (), labels.above_threshold(logits), values=values)
    probabilities = labels.probabilities(logits)
    best = labels.best(probabilities)
    return Prediction(
        index=best,
        label=labels.names[best],
        probability=float(probabilities[best]),
        probabilities=tuple(probabilities.tolist()),
        predicted=labels.above_threshold(probabilities),
        threshold=labels.threshold if labels.head == "sigmoid" else None,
    )


def _untouched_logits(classifier: Classifier, encoded: Encoded, cache: BoundedCache) -> Floats:
    """Return the logits of an untouched input, `[labels]`."""
    removal = chosen_removal(classifier, None)  # whichever it is: it removes nothing here
    outcomes = classifier.outcomes(encoded, removal=removal, cache=cache, meter=Meter())
    logits: Floats = outcomes(np.ones((1, encoded.n_features), dtype=bool))[0]
    return logits


def _repeated_names(classifier: Classifier) -> list[str]:
    repeated = classifier.labels.repeated
    if not repeated:
        return []
    name, columns = next(iter(repeated.items()))
    several = f"the labels {', '.join(map(str, columns[:MOST_SHOWN]))} are all called '{name}'"
    return [f"{several}; they are told apart by their numbers"]


def _other_answers(classifier: Classifier, encoded: Encoded, cache: BoundedCache) -> list[str]:
    """Ask about the untouched text once more, past the cache; of a long one, about its first window.

    One row in a pass of its own, because a function may draw its random numbers once a call.
    """
    part = encoded.segment(0)[0] if len(encoded.windows) > 1 else encoded
    first, second = (_untouched_logits(classifier, part, known) for known in (cache, BoundedCache()))
    apart = float(np.abs(first - second).max())
    if apart <= SAME * max(1.0, float(np.abs(first).max())):
        return []
    one, other = (np.asarray(_prediction(classifier.labels, logits).answers) for logits in (first, second))
    what = "values" if classifier.labels.head == "regression" else "probabilities"
    how_far = f"{what} differ by {float(np.abs(one - other).max()):.2g}"
    return [f"the model answers the same text differently each time ({how_far}); scores carry that noise"]
