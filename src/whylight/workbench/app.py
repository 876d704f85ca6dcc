"""The server: pages, plain values and files, behind the guard."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from whylight import __version__
from whylight.core.errors import WhylightError
from whylight.workbench.bench import Bench
from whylight.workbench.guard import Guard
from whylight.workbench.routes import api, exports, pages, playground, progress

STATIC = Path(__file__).parent / "static"


def make_app(bench: Bench, *, hosts: Collection[str]) -> FastAPI:
    """Make the application.

    Args:
        bench: What it works with.
        hosts: Names that it may be called by, with ports, as a browser writes them.
    """

    @asynccontextmanager
    async def living(_app: FastAPI) -> AsyncIterator[None]:
        bench.start_looking()
        yield
        bench.job.close()

    app = FastAPI(
        title="whylight",
        version=__version__,
        lifespan=living,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        telemetry={"auto_configure": False, "tracing": False, "metrics": False},  # nothing leaves the machine
    )
    app.state.bench, app.state.readers = bench, progress.Readers()
    app.include_router(api.router)
    app.include_router(exports.router)
    app.include_router(progress.router)
    app.include_router(playground.router)
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    for wrong in (WhylightError, RequestValidationError, HTTPException):
        app.add_exception_handler(wrong, pages.refused)
    app.add_middleware(Guard, hosts=hosts)
    return app
