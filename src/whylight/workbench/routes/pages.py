"""Pages for people; everything in them is escaped, and their scripts fetch the rest."""

from functools import cache
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException

from whylight.core.printable import one_line
from whylight.core.registry import METHODS
from whylight.explaining.compatible import compatible
from whylight.report.templating import displayable
from whylight.workbench.agreement import agreements, disagreements
from whylight.workbench.bench import Bench
from whylight.workbench.queue import SHOWN, SORTS, Asked, queue_page
from whylight.workbench.routes.access import OnBench, SignedIn, TheDocument
from whylight.workbench.sessions import COOKIE, Session

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
TITLES = {
    "order": "order of the data",
    "doubt": "doubt: the probability stays without the evidence",
    "disagreement": "disagreement of methods",
    "uncertainty": "uncertainty of the model",
    "length": "length",
}


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


@router.get("/sign-in")
def sign_in(request: Request, bench: OnBench) -> Response:
    """Ask who is there."""
    if bench.sessions.of(request.cookies.get(COOKIE)) is not None:
        return RedirectResponse("/", 303)
    return render("sign_in.html", None, password=bench.sessions.asks_for_password)


@router.get("/")
def queue(
    bench: OnBench, session: SignedIn, sort: str = "order", show: str = "open", find: str = "", page: int = 1
) -> Response:
    """Show the queue."""
    asked = Asked(sort=sort, show=show, find=find, page=page)
    found = queue_page(bench.engine, asked, session.reviewer, model=bench.desk.findings.model)

    def link(**changed: object) -> str:
        return "/?" + urlencode({"sort": sort, "show": show, "find": find, "page": 1, **changed})

    return render(
        "queue.html",
        session,
        found=found,
        asked=asked,
        sorts=SORTS,
        titles=TITLES,
        shown=SHOWN,
        link=link,
        model=one_line(bench.desk.classifier.identity),
        progress=bench.job.progress,
    )


@router.get("/documents/{number}")
def document(session: SignedIn, found: TheDocument) -> Response:
    """Show a document."""
    return render("document.html", session, document=found, name=one_line(found.name))


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
        version=adjudicated.version,
        decided=adjudicated.decisions,
        differing=disagreements(reviews),
        reviews=reviews,
    )


@router.get("/agreement")
def agreement(bench: OnBench, session: SignedIn) -> Response:
    """Show how far reviewers agree, and on which documents they do not."""
    every = {one.id: (one, *bench.reviews(one.id)) for one in bench.journal.documents()}
    several = {number: own for number, own in every.items() if len(own[1]) > 1}
    open_ones = []
    for one, reviews, adjudicated in several.values():
        waiting = [each for each in disagreements(reviews) if each.label not in adjudicated.decisions]
        if waiting:
            open_ones.append((one, waiting))
    found = agreements([own[1] for own in several.values()])
    return render("agreement.html", session, found=found, open_ones=open_ones, several=len(several))


@router.get("/playground")
def playground(bench: OnBench, session: SignedIn) -> Response:
    """Type a text, choose a method, see what it says."""
    works = compatible(bench.desk.classifier)
    return render(
        "playground.html",
        session,
        methods=[METHODS[name] for name, obstacle in works.items() if obstacle is None],
        chosen=bench.desk.methods[0],
        labels=bench.desk.labels.names,
    )


@router.get("/history")
def history(bench: OnBench, session: SignedIn, before: int | None = None) -> Response:
    """Show who did what, and when."""
    rows = bench.journal.history(before=before)
    return render("history.html", session, rows=rows, command=lambda row: reproduce(bench, row))


def reproduce(bench: Bench, row: dict[str, Any]) -> str:
    """Return the command that makes the explanation again that an event is about; nothing where there is none."""
    if row["label"] is None:
        return ""
    quoted = row["label"].replace("'", "'\\''")
    return (
        f"whylight explain --model {one_line(bench.desk.classifier.identity)} --file document-{row['document']}.txt "
        f"--method {bench.desk.methods[0]} --target '{quoted}'"
    )


async def refused(request: Request, error: Exception) -> Response:
    """Say what was refused: in a page to people, who are sent to sign in, and as a plain value to scripts."""
    code = error.status_code if isinstance(error, HTTPException) else 500
    detail = str(error.detail) if isinstance(error, HTTPException) else "something went wrong."
    if request.url.path.startswith(("/api/", "/static/")) or "text/html" not in request.headers.get("accept", ""):
        return JSONResponse({"detail": detail}, status_code=code)
    if code == 401:  # noqa: PLR2004  HTTP's own number
        return RedirectResponse("/sign-in", 303)
    page = render("refused.html", None, code=code, detail=detail)
    page.status_code = code
    return page
