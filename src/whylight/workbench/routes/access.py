"""Who asks, and what about: what routes have in common."""

from typing import Annotated, Any

from fastapi import Depends, HTTPException, Query, Request
from fastapi.responses import JSONResponse

from whylight.core.errors import InputError
from whylight.core.printable import to_json
from whylight.workbench.bench import Bench
from whylight.workbench.journal import Document
from whylight.workbench.queue import USUAL, Asked
from whylight.workbench.sessions import COOKIE, HEADER, Session, is_token


class Plain(JSONResponse):
    """Plain values as JSON, whatever characters they hold: halves of them are written as escapes."""

    def render(self, content: Any) -> bytes:  # noqa: ANN401  as the library has it
        """Return the bytes of an answer."""
        return to_json(content).encode()


def the_bench(request: Request) -> Bench:
    """Return the workbench of the application."""
    found: Bench = request.app.state.bench
    return found


OnBench = Annotated[Bench, Depends(the_bench)]


def signed_in(request: Request, bench: OnBench) -> Session:
    """Return the session of a request; what changes anything must carry the token of its page."""
    session = bench.sessions.of(request.cookies.get(COOKIE))
    if session is None:
        raise HTTPException(401, "sign in first.")
    if request.method not in ("GET", "HEAD") and not is_token(session, request.headers.get(HEADER)):
        raise HTTPException(403, "the page is of another session; load it again.")
    return session


SignedIn = Annotated[Session, Depends(signed_in)]


def the_document(number: int, bench: OnBench, _session: SignedIn) -> Document:
    """Return the document of a number."""
    found = bench.journal.document(number) if 0 < number < 2**31 else None
    if found is None:
        raise HTTPException(404, "there is no such document.")
    return found


TheDocument = Annotated[Document, Depends(the_document)]


def asked_for(sort: str = USUAL.sort, show: str = USUAL.show, find: str = USUAL.find, page: int = USUAL.page) -> Asked:
    """Return the part of the queue that an address names."""
    return Asked(sort=sort, show=show, find=find, page=page)


AskedFor = Annotated[Asked, Depends(asked_for)]


Before = Annotated[int | None, Query(ge=1, lt=2**31)]
"""The number of an event, or of a document."""


def label_index(bench: Bench, label: str) -> int:
    """Return the column of a label's name."""
    names = bench.desk.labels.names
    if label not in names:
        raise InputError("the model has no such label.")
    return names.index(label)
