"""Progress of long work, as server-sent events: open only while a job runs, and for so many pages at a time."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import asdict

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from whylight.workbench.bench import Bench
from whylight.workbench.routes.access import OnBench, Plain, SignedIn

router = APIRouter(prefix="/api", default_response_class=Plain)
MOST_READERS = 32
TOO_MANY = "too many pages follow the job; load this one again later."
EVERY = 0.5
"""Seconds between two looks."""


class Readers:
    """Counts pages that follow the job."""

    def __init__(self) -> None:
        self.count = 0


class Followed(StreamingResponse):
    """The progress of a job until it ends; one page too many is turned away."""

    def __init__(self, bench: Bench, readers: Readers) -> None:
        super().__init__(_told(bench), media_type="text/event-stream")
        self._readers = readers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; nothing else runs between the look at the number and its change."""
        if self._readers.count >= MOST_READERS:
            await JSONResponse({"detail": TOO_MANY}, 503)(scope, receive, send)
            return
        self._readers.count += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._readers.count -= 1


async def _told(bench: Bench) -> AsyncIterator[str]:
    last = None
    while True:
        now = bench.job.progress
        if now != last:
            yield f"data: {json.dumps(asdict(now))}\n\n"
            last = now
        if not now.running:
            return
        await asyncio.sleep(EVERY)


@router.get("/job")
def job(bench: OnBench, _session: SignedIn) -> dict[str, object]:
    """Return how far the job is."""
    return asdict(bench.job.progress)


@router.post("/job", status_code=202)
def start(bench: OnBench, _session: SignedIn) -> dict[str, object]:
    """Look at documents that nobody has looked at."""
    bench.start_looking()
    return asdict(bench.job.progress)


@router.get("/progress")
async def progress(request: Request, bench: OnBench, _session: SignedIn) -> Response:
    """Follow the job until it ends."""
    return Followed(bench, request.app.state.readers)
