"""Progress of long work, as server-sent events: open only while a job runs, and for so many pages at a time."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import asdict

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import StreamingResponse

from whylight.workbench.bench import Bench
from whylight.workbench.routes.access import OnBench, SignedIn

router = APIRouter(prefix="/api")
MOST_READERS = 32
EVERY = 0.5
"""Seconds between two looks."""


class Readers:
    """Counts pages that follow the job."""

    def __init__(self) -> None:
        self.count = 0

    async def told(self, bench: Bench) -> AsyncIterator[str]:
        """Tell a page how far the job is until it ends; one page too many is told once."""
        self.count += 1
        try:
            last = None
            while True:
                now = bench.job.progress
                if now != last:
                    yield f"data: {json.dumps(asdict(now))}\n\n"
                    last = now
                if not now.running or self.count > MOST_READERS:
                    return
                await asyncio.sleep(EVERY)
        finally:
            self.count -= 1


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
async def progress(request: Request, bench: OnBench, _session: SignedIn) -> StreamingResponse:
    """Follow the job until it ends."""
    readers: Readers = request.app.state.readers
    if readers.count >= MOST_READERS:
        raise HTTPException(503, "too many pages follow the job; load this one again later.")
    return StreamingResponse(readers.told(bench), media_type="text/event-stream")
