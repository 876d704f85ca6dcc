"""The model on the reviewer's desk: what it predicts, why, and what it says without the evidence.

    uncertainty  = max over labels of min(p / t, (1 - p) / (1 - t))         several labels, threshold t
                   1 - (p of the best label - p of the second)              one label
    disagreement = mean over predicted labels and pairs of methods of 1 - |A and B| / |A or B|
    doubt        = mean over predicted labels of min(1, p without the evidence / p)

A and B are the characters that two methods name. Doubt is high where the probability hardly falls when the evidence is
taken away: either the evidence is not what the model goes by, or the same is said elsewhere. The last two are means,
since of many labels one is nearly always said twice, and a maximum would be 1 everywhere. Cost of a document: each
method once, and one forward pass per label.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

import numpy as np

from whylight import __version__
from whylight.core.errors import ModelError
from whylight.core.evidence import Evidence, evidence
from whylight.core.explanation import Explanation, Prediction
from whylight.core.identity import digest
from whylight.core.labels import Labels
from whylight.core.registry import METHODS, Spec
from whylight.core.text import Span, Text
from whylight.explaining.case import Case, open_case
from whylight.explaining.compatible import compatible, require
from whylight.explaining.explain import explain
from whylight.explaining.options import Options
from whylight.explaining.removing import chosen_removal
from whylight.explaining.signs import SignSource
from whylight.explaining.variants import asked_methods
from whylight.views.classifier import Classifier, require_texts
from whylight.views.meter import Meter
from whylight.workbench.findings import Findings, Standing
from whylight.workbench.journal import Document
from whylight.workbench.outside import check_asked
from whylight.workbench.reviewing import characters, overlap

OPEN = 8
"""Texts that are kept open in front of the model, with all that was asked about them."""


@dataclass(frozen=True, slots=True)
class Fall:
    """What a probability becomes without some stretches of text.

    Attributes:
        before: The probability of the label.
        after: What is left of it.
        words: How many words were removed.
        remover: How.
    """

    before: float
    after: float
    words: int
    remover: str


class Desk:
    """A classifier in front of documents; one question at a time.

    Args:
        classifier: What `wl.load` returned.
        methods: Methods that explain, the first of which is shown first.
        findings: Where answers are kept.
    """

    def __init__(self, classifier: Classifier, *, methods: Sequence[str], findings: Findings) -> None:
        require_texts(classifier.reads, "a review")
        classifier.labels.require_fixed("a review")
        for one in asked_methods(methods):
            require(one.spec, classifier)
        self.classifier, self.methods, self.findings = classifier, tuple(methods), findings
        self._lock = threading.Lock()
        self._open: OrderedDict[str, Case] = OrderedDict()

    @property
    def labels(self) -> Labels:
        """The labels of the model."""
        return self.classifier.labels

    def prediction(self, text: Text) -> Prediction:
        """Return what the model says of a text."""
        with self._lock:
            return self._case(text).prediction

    def explanation(
        self, text: Text, method: str, labels: Sequence[int], *, document: int | None = None
    ) -> Explanation:
        """Explain some labels of a text, unless that was done before, here or by a run."""
        key = self._key(text, method, labels)
        found = self.findings.explanation(key)
        if found is None:
            lent = self.findings.explanation(self.lent_key(text, method, labels))
            with self._lock:
                if lent is None:
                    found = explain(self.classifier, text, method=method, target=list(labels), progress=False)
                else:  # rows of runs have no signs from other methods
                    signs = SignSource(self.classifier, Options(target=list(labels)))
                    found = signs.lent(0, self._case(text), lent)
            self.findings.keep(key, found, document)
        return found

    def working(self) -> list[Spec]:
        """Return the methods that work with the model; it may be tried for that."""
        with self._lock:
            found = compatible(self.classifier)
        return [METHODS[name] for name, obstacle in found.items() if obstacle is None]

    def lent_key(self, text: Text, method: str, labels: Sequence[int]) -> str:
        """Return what an explanation that a run has made is kept under."""
        return self._key(text, method, labels, "run")

    def _key(self, text: Text, method: str, labels: Sequence[int], *more: str) -> str:
        # another version of whylight may answer otherwise
        return digest([self.findings.model, __version__, method, list(labels), text.to_json(), *more])

    def tried(self, text: Text, method: str, target: str, *, settings: Mapping[str, str], budget: float) -> Explanation:
        """Explain a text by any method that works; nothing is kept.

        Raises:
            WhylightError: The method or a setting may not be asked for from outside.
        """
        with self._lock:
            check_asked(self.classifier, method, settings)
            return explain(
                self.classifier, text, method=method, target=target, progress=False, budget=budget, **settings
            )

    def evidence(self, text: Text, method: str, label: int, *, document: int | None = None) -> tuple[Evidence, ...]:
        """Return the evidence for one label of a text; all predicted ones are explained at once."""
        predicted = self.prediction(text).predicted
        labels = list(predicted) if label in predicted else [label]
        found = self.explanation(text, method, labels, document=document)
        return evidence(found, found.the_target(label if isinstance(label, str) else self.labels.names[label]))

    def without(self, text: Text, label: int, spans: Sequence[Span]) -> Fall:
        """Return what a label's probability becomes without all words that the stretches touch."""
        with self._lock:
            case = self._case(text)
            gone = [any(overlap(place, span) for span in spans) for place in case.encoded.places]
            removal = chosen_removal(self.classifier, None)
            outcomes = self.classifier.outcomes(case.encoded, removal=removal, cache=case.cache, meter=Meter())
            after = self.labels.probabilities(outcomes(~np.asarray([gone], dtype=bool)))[0, label]
        return Fall(case.prediction.probabilities[label], float(after), sum(gone), removal.name)

    def standing(self, document: Document) -> Standing:
        """Find out why a document should be looked at first."""
        text, answer = document.text, self.prediction(document.text)
        predicted = list(answer.predicted)
        found = {
            (method, label): [one.span for one in self.evidence(text, method, label, document=document.id)]
            for method in self.methods
            for label in predicted
        }
        doubts = []
        for label in predicted:
            spans = found[self.methods[0], label]
            fall = self.without(text, label, spans)
            doubts.append(min(1.0, fall.after / fall.before) if spans and fall.before else 1.0)
        apart = [
            distance(found[one, label], found[other, label])
            for label in predicted
            for one, other in combinations(self.methods, 2)
        ]
        return Standing(
            labels={self.labels.names[label]: answer.probabilities[label] for label in predicted},
            uncertainty=uncertainty(answer),
            disagreement=fmean(apart) if apart else None,
            doubt=fmean(doubts) if doubts else None,
            evidence={
                self.labels.names[label]: [(span, text.show(span)) for span in found[self.methods[0], label]]
                for label in predicted
            },
        )

    def _case(self, text: Text) -> Case:
        """Return a text in front of the model."""
        if text.key not in self._open:
            self._open[text.key] = open_case(self.classifier, text)
            while len(self._open) > OPEN:
                self._open.popitem(last=False)
        self._open.move_to_end(text.key)
        return self._open[text.key]


def model_digest(classifier: Classifier) -> str:
    """Return a hash of what the model's answers depend on."""
    known = classifier.contents()
    if known is None:
        raise ModelError(
            "reviews must know whose answers they are of: name a callable, e.g. wl.load(function, labels=[...], "
            "identity='my-rule-v1')."
        )
    return digest([dict(known)])


def uncertainty(answer: Prediction) -> float:
    """Return how near a model is to another decision."""
    if answer.threshold is not None:
        at = answer.threshold
        return max(p / at if p < at else (1 - p) / (1 - at) if at < 1 else 0.0 for p in answer.probabilities)
    best, *others = sorted(answer.probabilities, reverse=True)
    return 1 - (best - others[0]) if others else 0.0


def distance(one: Sequence[Span], other: Sequence[Span]) -> float:
    """Return how far two sets of stretches differ: 0 where they cover the same characters, 1 where they share none."""
    first, second = characters(one), characters(other)
    return 1 - len(first & second) / len(first | second) if first | second else 0.0
