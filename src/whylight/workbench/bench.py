"""All that the routes work with: the journal, the desk, the job, and who may come in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Engine

from whylight.core.evidence import Evidence, evidence, speaks
from whylight.core.explanation import Explanation
from whylight.core.text import Text
from whylight.data.dataset import Dataset
from whylight.explaining.defaults import REVIEWING, default_methods
from whylight.views.classifier import Classifier
from whylight.workbench.database import signing_key
from whylight.workbench.desk import Desk, model_digest
from whylight.workbench.export import Agreed, agreed
from whylight.workbench.findings import Findings
from whylight.workbench.jobs import Job
from whylight.workbench.journal import ADJUDICATION, Document, Journal, stream_of
from whylight.workbench.reviewing import Event, Review, review_of
from whylight.workbench.sessions import Sessions
from whylight.workbench.suggesting import Suggestion, about, habits, suggested

FEWEST = 2
"""Methods that can disagree."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A document that somebody has finished.

    Attributes:
        document: The document.
        reviews: Finished reviews, by reviewer.
        adjudicated: What was decided about their disagreements.
    """

    document: Document
    reviews: Mapping[str, Review]
    adjudicated: Review

    @property
    def agreed(self) -> Agreed:
        """What they come to."""
        return agreed(self.reviews, self.adjudicated)


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """The workbench without its pages.

    Attributes:
        engine: The database.
        journal: Documents and events.
        desk: The model.
        sessions: Who may come in.
        job: Long work.
        asked: How commands ask for the model, beside its name.
    """

    engine: Engine
    journal: Journal
    desk: Desk
    sessions: Sessions
    job: Job = field(default_factory=Job)
    asked: tuple[str, ...] = ()

    @property
    def under(self) -> dict[str, Any]:
        """Which model is on the desk, and what explains it: what an event is done under."""
        return {
            "model": self.desk.classifier.identity,
            "contents": self.desk.findings.model,
            "methods": list(self.desk.methods),
            "asked": list(self.asked),
        }

    def start_looking(self) -> bool:
        """Find out where documents stand that nobody has looked at; False if that is under way already."""
        known = self.desk.findings.placed()
        waiting = self.journal.count() - len(known)
        items = (one for one in self.journal.documents() if one.id not in known)

        def look(document: Document) -> None:
            self.desk.findings.place(document.id, self.desk.standing(document))

        return self.job.start(items, look, total=waiting) if waiting else False

    def reviews(self, number: int) -> tuple[dict[str, Review], Review]:
        """Return the finished reviews of a document by reviewer, and its adjudication."""
        return _reviews(self.journal.streams(number))

    def finished(self) -> list[Finished]:
        """Return the documents that somebody has finished, in the order of the data."""
        every = {number: _reviews(own) for number, own in self.journal.finished()}
        kept = {number: own for number, own in every.items() if own[0]}
        documents = self.journal.some(kept)
        return [Finished(documents[number], *own) for number, own in kept.items()]

    def suggestions(self, reviewer: str) -> tuple[list[Suggestion], dict[int, Document]]:
        """Return what a reviewer did again and again, where else that could be done, and the documents of that."""
        streams = self.journal.work(stream_of(reviewer))
        touched = [number for number, own in streams.items() if any(one.span is not None for one in own)]
        known = habits({number: streams[number] for number in touched}, _texts(self.journal.some(touched)))
        every = self.desk.findings.proposed() if known else iter(())
        proposed = [(number, own) for number, own in every if about(known, own)]
        documents = self.journal.some(number for number, _ in proposed)
        reviews = {number: review_of(own) for number, own in streams.items()}
        return suggested(known, proposed, _texts(documents), reviews), documents


def make_bench(
    engine: Engine,
    classifier: Classifier,
    data: Dataset | None,
    *,
    methods: Sequence[str] = (),
    password: str | None,
    asked: Sequence[str] = (),
) -> Bench:
    """Put a model in front of documents.

    Args:
        engine: The database.
        classifier: The model.
        data: Documents to add to those that are there.
        methods: Methods that explain; two that work if left out.
        password: What must be given to sign in.
        asked: How commands ask for the model, beside its name: `("--head", "sigmoid")`.
    """
    journal = Journal(engine)
    if data is not None:
        journal.take_in(data)
    findings = Findings(engine, model_digest(classifier))
    desk = Desk(classifier, methods=methods or working_methods(classifier), findings=findings)
    return Bench(engine, journal, desk, Sessions(signing_key(engine), password), asked=tuple(asked))


def working_methods(classifier: Classifier) -> list[str]:
    """Return the methods that explain where none is named: two that work."""
    return default_methods(classifier, REVIEWING, most=FEWEST)


def evidence_json(explanation: Explanation, label: str) -> dict[str, Any]:
    """Return what speaks for a label and what against it, with the receipt, as plain values."""
    target = explanation.the_target(label)
    found = evidence(explanation, target)
    against: tuple[Evidence, ...] = ()
    if explanation.provenance.signed:
        against = evidence(replace(explanation, scores=-explanation.scores), target)
    receipt = explanation.provenance
    return {
        "label": label,
        "method": receipt.method,
        "speaks": speaks(explanation),
        "for": [_stretch(explanation, one, 1) for one in found],
        "against": [_stretch(explanation, one, -1) for one in against],
        "receipt": {
            "settings": dict(receipt.settings),
            "remover": receipt.remover,
            "score": receipt.score,
            "forward_passes": receipt.forward_passes,
            "backward_passes": receipt.backward_passes,
            "seconds": receipt.seconds,
            "notes": list(receipt.notes),
        },
    }


def _stretch(explanation: Explanation, one: Evidence, sign: int) -> dict[str, Any]:
    return {
        "part": one.part,
        "start": one.start,
        "end": one.end,
        "score": sign * one.score,
        "text": explanation.example.show(one.span),
    }


def _texts(documents: Mapping[int, Document]) -> dict[int, Text]:
    return {number: one.text for number, one in documents.items()}


def _reviews(streams: dict[str, list[Event]]) -> tuple[dict[str, Review], Review]:
    adjudicated = review_of(streams.pop(ADJUDICATION, []))
    each = {own[0].reviewer: review_of(own) for own in streams.values()}
    return {name: one for name, one in each.items() if one.done}, adjudicated
