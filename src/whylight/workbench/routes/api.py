"""Plain values for scripts: documents, evidence, events, re-scoring, export."""

import json
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, HTTPException, Response
from pydantic import BaseModel, ConfigDict, Field

from whylight.core.errors import InputError
from whylight.core.text import Span
from whylight.workbench.agreement import agreements
from whylight.workbench.bench import Bench, evidence_json
from whylight.workbench.export import record_of
from whylight.workbench.journal import ADJUDICATION, Conflict, Document, stream_of
from whylight.workbench.queue import neighbours
from whylight.workbench.reviewing import Review, checked_event, review_of
from whylight.workbench.routes.access import AskedFor, Before, OnBench, Plain, SignedIn, TheDocument, label_index
from whylight.workbench.sessions import COOKIE

router = APIRouter(prefix="/api", default_response_class=Plain)
MOST_SPANS = 5_000


class _Body(BaseModel):
    """What a browser sends; what is not named here is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SignIn(_Body):
    """Who wants to come in."""

    name: str = Field(max_length=200)
    password: str | None = Field(default=None, max_length=1000)


class Place(_Body):
    """A stretch of text, in code points."""

    part: int
    start: int
    end: int
    text: str


class Action(_Body):
    """Something that a reviewer did, and the version that was looked at."""

    version: int
    kind: str = Field(max_length=20)
    label: str | None = None
    span: Place | None = None
    into: Place | None = None
    note: str | None = None


class Removed(_Body):
    """Stretches to take away."""

    label: str
    spans: list[Place] = Field(min_length=1, max_length=MOST_SPANS)


@router.post("/sign-in")
def sign_in(given: SignIn, bench: OnBench, response: Response) -> dict[str, str]:
    """Start a session."""
    session = bench.sessions.start(given.name, given.password)
    if session is None:
        raise HTTPException(401, "that is not the password.")
    response.set_cookie(COOKIE, session.cookie, httponly=True, samesite="strict", path="/")
    return {"reviewer": session.reviewer}


@router.post("/sign-out")
def sign_out(_session: SignedIn, response: Response) -> dict[str, bool]:
    """End a session in this browser."""
    response.delete_cookie(COOKIE, path="/")
    return {"signed_out": True}


@router.get("/documents/{number}")
def document(bench: OnBench, session: SignedIn, found: TheDocument, asked: AskedFor) -> dict[str, Any]:
    """Return a document, what the model says of it, this reviewer's work on it, and what comes before and after."""
    answer, labels = bench.desk.prediction(found.text), bench.desk.labels
    predicted = set(answer.predicted)
    return {
        "id": found.id,
        "name": found.name,
        "parts": list(found.text.parts),
        "methods": list(bench.desk.methods),
        "threshold": answer.threshold,
        "labels": [
            {
                "label": name,
                "description": labels.target(index).description,
                "probability": answer.probabilities[index],
                "predicted": index in predicted,
            }
            for index, name in enumerate(labels.names)
        ],
        "review": _review(bench, found, stream_of(session.reviewer)).to_json(),
        **neighbours(bench.engine, found.id, asked, session.reviewer, model=bench.desk.findings.model),
    }


@router.get("/documents/{number}/evidence")
def evidence_of(bench: OnBench, found: TheDocument, label: str, method: str) -> dict[str, Any]:
    """Return what speaks for a label, and what against it."""
    if method not in bench.desk.methods:
        raise InputError("the server was not started with that method.")
    index = label_index(bench, label)
    predicted = list(bench.desk.prediction(found.text).predicted)
    columns = predicted if index in predicted else [index]
    explanation = bench.desk.explanation(found.text, method, columns, document=found.id)
    return evidence_json(explanation, label)


@router.post("/documents/{number}/without")
def without(bench: OnBench, found: TheDocument, given: Removed) -> dict[str, Any]:
    """Score a document without some stretches."""
    spans = [_span(one, found) for one in given.spans]
    fall = bench.desk.without(found.text, label_index(bench, given.label), spans)
    return {"before": fall.before, "after": fall.after, "words": fall.words, "remover": fall.remover}


@router.post("/documents/{number}/events", status_code=201)
def add(bench: OnBench, session: SignedIn, found: TheDocument, given: Action, response: Response) -> dict[str, Any]:
    """Add an event to this reviewer's stream; the state of the stream comes back."""
    return _added(bench, session.reviewer, found, given, stream_of(session.reviewer), response)


@router.post("/documents/{number}/adjudication", status_code=201)
def adjudicate(
    bench: OnBench, session: SignedIn, found: TheDocument, given: Action, response: Response
) -> dict[str, Any]:
    """Add an event to the adjudication of a document."""
    return _added(bench, session.reviewer, found, given, ADJUDICATION, response)


@router.get("/documents/{number}/file")
def file(found: TheDocument) -> Response:
    """Return the document as a line of JSON, for commands that explain it again."""
    headers = {"content-disposition": f'attachment; filename="{file_name(found.id)}"'}
    return Response(json.dumps(record_of(found.text)) + "\n", media_type="application/x-ndjson", headers=headers)


def file_name(number: int) -> str:
    """Return what the file of a document is called."""
    return f"document-{number}.jsonl"


@router.get("/agreement")
def agreement(bench: OnBench, _session: SignedIn) -> list[dict[str, Any]]:
    """Return how far reviewers agree."""
    found = agreements([one.reviews for one in bench.finished() if len(one.reviews) > 1])
    return [{name: _number(getattr(one, name)) for name in one.__slots__} for one in found]


@router.get("/suggestions")
def suggestions(bench: OnBench, session: SignedIn) -> list[dict[str, Any]]:
    """Return what this reviewer did again and again, and in how many places the same could be done."""
    found, _ = bench.suggestions(session.reviewer)
    return [{**asdict(one.habit), "times": one.times, "places": len(one.places)} for one in found]


@router.get("/history")
def history(bench: OnBench, _session: SignedIn, before: Before = None) -> list[dict[str, Any]]:
    """Return what was done last."""
    return bench.journal.history(before=before)


def _added(
    bench: Bench, reviewer: str, found: Document, given: Action, stream: str, response: Response
) -> dict[str, Any]:
    events = bench.journal.events(found.id, stream)
    if len(events) == given.version:
        told = given.model_dump(exclude={"version"}, exclude_none=True)
        event = checked_event(told, parts=found.text.parts, labels=bench.desk.labels.names, before=events)
        try:
            added = bench.journal.add(found.id, stream, event, reviewer=reviewer, seen=len(events), under=bench.under)
            return review_of([*events, added]).to_json()
        except Conflict:
            pass
    response.status_code = 409
    return _review(bench, found, stream).to_json()


def _review(bench: Bench, found: Document, stream: str) -> Review:
    return review_of(bench.journal.events(found.id, stream))


def _span(given: Place, found: Document) -> Span:
    parts = found.text.parts
    inside = 0 <= given.part < len(parts) and 0 <= given.start < given.end <= len(parts[given.part])
    if not inside or parts[given.part][given.start : given.end] != given.text:
        raise InputError("the text at the span is another one: offsets are code points, the end exclusive.")
    return Span(given.part, given.start, given.end)


def _number(value: Any) -> Any:  # noqa: ANN401  of a field
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124  JSON has no nan
