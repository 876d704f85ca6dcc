"""Pages for people; everything in them is escaped, and their scripts fetch the rest."""

import json
import shlex
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from typing import Any

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException

from whylight.core.errors import WhylightError
from whylight.core.printable import one_line
from whylight.core.text import Span, Text
from whylight.report.templating import displayable
from whylight.workbench.agreement import agreements, disagreements
from whylight.workbench.bench import Bench
from whylight.workbench.queue import SHOWN, SORTS, Asked, QueuePage, queue_page
from whylight.workbench.routes.access import AskedFor, Before, OnBench, Plain, SignedIn, TheDocument
from whylight.workbench.routes.api import file_name
from whylight.workbench.routes.exports import ready
from whylight.workbench.sessions import COOKIE, Session
from whylight.workbench.suggesting import Habit, Place

router = APIRouter(default_response_class=HTMLResponse)
TITLES = {
    "uncertainty": "uncertainty",
    "doubt": "doubt",
    "disagreement": "disagreement",
    "order": "order of the data",
    "length": "length",
}
MEANINGS = {
    "uncertainty": "How near the model is to another decision about a label.",
    "doubt": "How much of the probability is left without the evidence, on average over the labels. Where it is much, "
    "the model goes by something else, or the same is said elsewhere.",
    "disagreement": "How far two methods name other words as evidence.",
}
SHOWN_AS = {"open": "open", "done": "done by me", "all": "all"}
MOST_PLACES = 100
"""Places of a suggestion that are shown at once."""
AROUND = 60
"""Characters that are shown on each side of evidence."""


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("whylight.workbench", "templates"),
        autoescape=True,
        finalize=displayable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, session: Session | None, **values: Any) -> HTMLResponse:  # noqa: ANN401  whatever a template shows
    """Return a page."""
    who = {"reviewer": session.reviewer if session else None, "token": session.token if session else ""}
    return HTMLResponse(_environment().get_template(template).render(**who, **values))


def described(bench: Bench) -> Callable[[str], str]:
    """Return what says what a label stands for, in words; nothing where nobody says."""
    labels = bench.desk.labels
    known = dict(zip(labels.names, labels.descriptions or [None] * len(labels.names), strict=True))
    return lambda label: known.get(label) or ""


@router.get("/sign-in")
def sign_in(request: Request, bench: OnBench) -> Response:
    """Ask who is there."""
    if bench.sessions.of(request.cookies.get(COOKIE)) is not None:
        return RedirectResponse("/", 303)
    return render("sign_in.html", None, password=bench.sessions.asks_for_password)


@router.get("/")
def queue(bench: OnBench, session: SignedIn, asked: AskedFor) -> Response:
    """Show the queue."""
    found = queue_page(bench.engine, asked, session.reviewer, model=bench.desk.findings.model)
    return render("queue.html", session, **queue_values(bench, asked, found))


def queue_values(bench: Bench, asked: Asked, found: QueuePage) -> dict[str, Any]:
    """Return what the page of the queue shows."""
    return {
        "found": found,
        "asked": asked,
        "sorts": SORTS,
        "titles": TITLES,
        "shown": {name: SHOWN_AS[name] for name in SHOWN},
        "meanings": MEANINGS,
        "described": described(bench),
        "model": one_line(bench.desk.classifier.identity),
        "progress": bench.job.progress,
    }


@router.get("/documents/{number}")
def document(session: SignedIn, found: TheDocument, asked: AskedFor) -> Response:
    """Show a document, as one of a queue."""
    return render(
        "document.html", session, document=found, name=one_line(found.name), queue=asked.query(page=asked.page)
    )


@router.get("/documents/{number}/adjudicate")
def adjudicate(bench: OnBench, session: SignedIn, found: TheDocument) -> Response:
    """Show what reviewers of a document see differently."""
    reviews, adjudicated = bench.reviews(found.id)
    return render(
        "adjudicate.html",
        session,
        document=found,
        name=one_line(found.name),
        show=found.text.show,
        sides=lambda span: sides_of(found.text, span),
        described=described(bench),
        version=adjudicated.version,
        decided=adjudicated.decisions,
        differing=disagreements(reviews),
        reviews=reviews,
    )


@router.get("/agreement")
def agreement(bench: OnBench, session: SignedIn) -> Response:
    """Show how far reviewers agree, and on which documents they do not."""
    several = [one for one in bench.finished() if len(one.reviews) > 1]
    open_ones = []
    for one in several:
        waiting = [each for each in disagreements(one.reviews) if each.label not in one.adjudicated.decisions]
        if waiting:
            open_ones.append((one.document, waiting))
    found = agreements([one.reviews for one in several])
    return render("agreement.html", session, found=found, open_ones=open_ones, several=len(several))


@router.get("/suggestions")
def suggestions(bench: OnBench, session: SignedIn) -> Response:
    """Show what the reviewer did again and again, and where else it could be done."""
    found, documents = bench.suggestions(session.reviewer)
    return render(
        "suggestions.html",
        session,
        found=found,
        most=MOST_PLACES,
        documents=documents,
        show=lambda number, span: documents[number].text.show(span),
        sides=lambda number, span: sides_of(documents[number].text, span),
        described=described(bench),
        event=event_of,
    )


@router.get("/export")
def export(bench: OnBench, session: SignedIn) -> Response:
    """Show what can be exported, and what waits for a decision."""
    done, waiting = ready(bench)
    return render("export.html", session, done=len(done), waiting=waiting, total=bench.journal.count())


@router.get("/playground")
def playground(bench: OnBench, session: SignedIn) -> Response:
    """Type a text, choose a method, see what it says."""
    return render(
        "playground.html",
        session,
        methods=bench.desk.working(),
        chosen=bench.desk.methods[0],
        labels=bench.desk.labels.names,
    )


@router.get("/history")
def history(bench: OnBench, session: SignedIn, before: Before = None, document: Before = None) -> Response:
    """Show who did what, and when, with all documents or one of them."""
    about = None if document is None else bench.journal.document(document)
    if document is not None and about is None:
        raise HTTPException(404, "there is no such document.")
    rows = bench.journal.history(document, before=before)
    texts = {
        number: one.text for number in {row["document"] for row in rows} if (one := bench.journal.document(number))
    }

    def words(row: dict[str, Any], name: str) -> str | None:
        return None if row[name] is None else texts[row["document"]].show(Span(*row[name]))

    return render(
        "history.html",
        session,
        rows=rows,
        words=words,
        file_name=file_name,
        command=reproduce,
        about=about,
        now=bench.desk.findings.model,
    )


def reproduce(row: dict[str, Any]) -> str:
    """Return the command that makes the explanations again that an event was done under; nothing where there are none.

    Another model, or other methods, may have been on the desk than now.
    """
    under = row["under"]
    if row["label"] is None or under is None:
        return ""
    methods = [word for method in under["methods"] for word in ("--method", method)]
    about = ["--file", file_name(row["document"]), "--target", row["label"]]
    return one_line(shlex.join(["whylight", "explain", "--model", under["model"], *under["asked"], *about, *methods]))


def event_of(habit: Habit, place: Place, texts: Callable[[int, Span], str]) -> str:
    """Return the event that follows a suggestion at a place, as JSON."""

    def told(span: Span | None) -> dict[str, Any] | None:
        return None if span is None else {**asdict(span), "text": texts(place.document, span)}

    event = {"kind": habit.kind, "label": habit.label, "span": told(place.span), "into": told(place.into)}
    return json.dumps({name: value for name, value in event.items() if value is not None})


def sides_of(text: Text, span: Span) -> tuple[str, str]:
    """Return whole words on both sides of a stretch."""
    own = text.parts[span.part]
    before, after = own[max(0, span.start - AROUND) : span.start], own[span.end : span.end + AROUND]
    before = before if span.start <= AROUND else f"… {before.partition(' ')[2]}"
    return before, after if span.end + AROUND >= len(own) else f"{after.rpartition(' ')[0]} …"


async def refused(request: Request, error: Exception) -> Response:
    """Say what was refused: in a page to people, who are sent to sign in, and as a plain value to scripts."""
    code, detail = 500, "something went wrong."
    if isinstance(error, HTTPException):
        code, detail = error.status_code, str(error.detail)
    elif isinstance(error, WhylightError):
        code, detail = 422, str(error)
    elif isinstance(error, RequestValidationError):
        code, detail = 422, _not_understood(error)
    if request.url.path.startswith(("/api/", "/static/")) or "text/html" not in request.headers.get("accept", ""):
        return Plain({"detail": detail}, status_code=code)
    if code == 401:  # noqa: PLR2004  HTTP's own number
        return RedirectResponse("/sign-in", 303)
    page = render("refused.html", None, code=code, detail=detail)
    page.status_code = code
    return page


def _not_understood(error: RequestValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(one) for one in first["loc"] if one not in ("body", "query", "path"))
    return f"{where}: {first['msg']}"
