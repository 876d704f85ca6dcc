"""A case: one example in front of one classifier, with everything that its explanations share."""

from dataclasses import dataclass, field

import numpy as np

from whylight.core.encoded import Encoded, Long, Unit
from whylight.core.example import Example
from whylight.core.explanation import Prediction
from whylight.core.labels import Target, TargetSpec
from whylight.views.cache import BoundedCache
from whylight.views.classifier import Classifier
from whylight.views.meter import Meter


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One example, encoded once and classified once.

    Attributes:
        classifier: The classifier.
        encoded: Features and windows.
        long: What happens to a text that does not fit.
        prediction: The classifier's answer to the untouched example.
        cache: Answers that methods and metrics share.
    """

    classifier: Classifier
    encoded: Encoded
    long: Long
    prediction: Prediction
    cache: BoundedCache = field(default_factory=BoundedCache)

    def targets(self, spec: TargetSpec) -> tuple[tuple[Target, ...], list[str]]:
        """Resolve a target specification on the untouched example."""
        return self.classifier.labels.resolve(spec, np.asarray(self.prediction.probabilities))


def open_case(classifier: Classifier, example: Example, *, unit: Unit = "word", long: Long = "window") -> Case:
    """Encode an example and ask the classifier for its answer."""
    encoded = classifier.encode(example, unit=unit, long=long)
    cache = BoundedCache()
    untouched = classifier.outcomes(encoded, remover=classifier.removers[0], cache=cache, meter=Meter())
    logits = untouched(np.ones((1, encoded.n_features), dtype=bool))[0]
    probabilities = classifier.labels.probabilities(logits)
    best = int(np.argmax(probabilities))
    prediction = Prediction(
        index=best,
        label=classifier.labels.names[best],
        probability=float(probabilities[best]),
        probabilities=tuple(probabilities.tolist()),
        predicted=classifier.labels.above_threshold(probabilities),
        threshold=classifier.labels.threshold if classifier.labels.head == "sigmoid" else None,
    )
    return Case(classifier, encoded, long, prediction, cache)
