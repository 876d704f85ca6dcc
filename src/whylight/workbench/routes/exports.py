"""What was agreed on, for training and for other tools; documents that wait for a decision are told, and stay out."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse, Response, StreamingResponse
from starlette.background import BackgroundTask

from whylight.core.errors import unknown
from whylight.report.marked import MARKED_FORMS
from whylight.workbench.bench import Bench, Finished
from whylight.workbench.export import line_of, marked_of
from whylight.workbench.routes.access import OnBench, Plain, SignedIn

router = APIRouter(prefix="/api", default_response_class=Plain)
NAMES = {
    "jsonl": "rationales.jsonl",
    "brat": "brat.zip",
    "conll": "reviews.conll",
    "labelstudio": "labelstudio.json",
}
"""What the file of each form is called."""


def ready(bench: Bench) -> tuple[list[Finished], list[Finished]]:
    """Return finished documents that can be exported, and those that wait for a decision."""
    several = bench.desk.labels.head == "sigmoid"

    def is_ready(one: Finished) -> bool:
        found = one.agreed
        return not found.split and (several or len(found.labels) == 1)

    every = bench.finished()
    return [one for one in every if is_ready(one)], [one for one in every if not is_ready(one)]


@router.get("/export")
def export(bench: OnBench, _session: SignedIn, form: str = "jsonl") -> Response:
    """Return what was agreed on: JSON lines for training, or the form of another tool."""
    if form not in NAMES:
        raise unknown("form", form, list(NAMES))
    headers = {"content-disposition": f'attachment; filename="{NAMES[form]}"'}
    if form == "jsonl":
        return StreamingResponse(lines(bench), media_type="application/x-ndjson", headers=headers)
    folder = Path(tempfile.mkdtemp(prefix="whylight-export-"))
    try:
        file = _written(bench, form, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    gone: Callable[[], None] = lambda: shutil.rmtree(folder, ignore_errors=True)  # noqa: E731  a task wants a function
    return FileResponse(file, headers=headers, background=BackgroundTask(gone))


def lines(bench: Bench) -> Iterator[str]:
    """Yield what was agreed on as JSON lines, in the order of the data."""
    several = bench.desk.labels.head == "sigmoid"
    for one in ready(bench)[0]:
        yield line_of(one.document, one.agreed, several=several) + "\n"


def _written(bench: Bench, form: str, folder: Path) -> Path:
    """Write a form into a folder, and return the one file that holds all of it."""
    marked = chain.from_iterable(marked_of(one.document, one.agreed, list(one.reviews)) for one in ready(bench)[0])
    place = folder / form
    MARKED_FORMS[form](marked, place)
    return Path(shutil.make_archive(str(place), "zip", place)) if place.is_dir() else place
