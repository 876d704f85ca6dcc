"""A run read back from its folder: the rows of the texts that are done, and no others.

`manifest.json` says whose run it is: the number of the form, the name of the run and what was asked. It is written
once, before any work. The rest are parts (`store/parts.py`).

Earlier versions had one file per table, and `runs.parquet` with one row, written last: a text is done if it is listed
there and every table has as many rows of it as are listed. Version 0.1 did not list them. Such folders are read, not
written in.
"""

import json
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from whylight.core.errors import InputError
from whylight.core.inputs import JsonValue
from whylight.store import files, parts, tables
from whylight.store.explanations import upgraded
from whylight.store.parts import Commit
from whylight.store.tables import Row

MANIFEST = "manifest.json"
FORM = 2
"""The form that is written; the one with a file per table is 1."""
EARLIER = "runs.parquet"


@dataclass(frozen=True, slots=True)
class About:
    """What a folder says of its run.

    Attributes:
        run: The run's name.
        asked: The question, as the run wrote it down; None where that cannot be read.
        rows_run: Inputs that the model was given.
        seconds: What it took so far.
        peak_megabytes: The most memory that a process had, where the system tells.
    """

    run: str
    asked: dict[str, JsonValue] | None
    rows_run: int
    seconds: float
    peak_megabytes: float | None


@dataclass(frozen=True, slots=True)
class Stored:
    """A run in a folder.

    Attributes:
        about: What the folder says of its run; None if it says nothing.
        explanations: Rows of the texts that are done.
        scores: Likewise.
        curves: Likewise.
        tuning: Explanations of the tuning texts that are done.
        runs: Names of all runs that something is of; one, unless files were mixed.
        commits: What is complete; None in a folder of an earlier version.
    """

    about: About | None
    explanations: Sequence[Row]
    scores: Sequence[Row]
    curves: Sequence[Row]
    tuning: Sequence[Row]
    runs: frozenset[str]
    commits: tuple[Commit, ...] | None


def read(folder: Path) -> Stored:
    """Read a run; its rows are read when they are asked for, and only those of an earlier version at once.

    Raises:
        InputError: Something is damaged.
    """
    with files.said(folder, doing="read"):
        earlier = not (folder / MANIFEST).exists() and any(
            (folder / f"{name}.parquet").exists() for name in ("runs", *parts.SCHEMAS)
        )
    if earlier:
        return _earlier(folder)
    known = tuple(parts.commits(folder))
    manifest = _manifest(folder)
    names = {one.run for one in known} | (set(parts.strays(folder, known)) if manifest is None else {manifest[0]})
    explanations, scores, curves, tuning = (parts.stored_rows(folder, known, name) for name in parts.SCHEMAS)
    about = None if manifest is None else about_of(*manifest, known)
    return Stored(about, explanations, scores, curves, tuning, frozenset(names), known)


def write_manifest(folder: Path, run: str, asked: dict[str, JsonValue]) -> None:
    """Write whose run a folder holds.

    Raises:
        InputError: It cannot be written there.
    """
    content = json.dumps({"form": FORM, "run": run, "asked": asked}, indent=1, sort_keys=True)
    files.write(folder / MANIFEST, content.encode())


def about_of(run: str, asked: dict[str, JsonValue] | None, known: Sequence[Commit]) -> About:
    """Add up what commits took."""
    peaks = [one.peak_megabytes for one in known if one.peak_megabytes is not None]
    return About(
        run, asked, sum(one.rows_run for one in known), sum(one.seconds for one in known), max(peaks, default=None)
    )


def _manifest(folder: Path) -> tuple[str, dict[str, JsonValue] | None] | None:
    """Return the run that a folder holds and what was asked, if it says so."""
    path = folder / MANIFEST
    with files.said(path, doing="read"):
        if not path.exists():
            return None
        content = path.read_bytes()
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("run"), str) or not isinstance(found.get("form"), int):
        raise InputError(f"'{path}' is damaged or not of a run; remove it, and evaluate again.")
    if found["form"] > FORM:
        raise InputError(f"'{path}' is of a later version of whylight (form {found['form']}); update whylight.")
    asked = found.get("asked")
    return found["run"], asked if isinstance(asked, dict) else None


def _earlier(folder: Path) -> Stored:
    """Read the tables of an earlier version; those that do not exist are empty."""
    known = tables.read(folder / EARLIER, tables.RUNS)
    (explanations, scores, curves, tuning) = (
        tables.read(folder / f"{name}.parquet", schema) for name, schema in parts.SCHEMAS.items()
    )
    explanations, tuning = ([upgraded(row) for row in rows] for rows in (explanations, tuning))
    about = known[0] if known else None
    runs = frozenset(row["run"] for row in (*known, *explanations, *scores, *curves, *tuning))
    listed = [] if about is None else about.get("done")
    if listed is None:  # version 0.1 did not list them
        done, tuned = _ids(explanations) & _ids(scores), _ids(tuning)
    else:
        done = _whole([one for one in listed if not one["tuning"]], explanations, scores, curves)
        tuned = _whole([one for one in listed if one["tuning"]], tuning, [], [])
    explanations, scores, curves = (_of(rows, done) for rows in (explanations, scores, curves))
    said = None if about is None else _about(about)
    return Stored(said, explanations, scores, curves, _of(tuning, tuned), runs, None)


def _about(row: Row) -> About:
    try:
        asked = json.loads(row["asked"])
    except ValueError:
        asked = None
    known = asked if isinstance(asked, dict) else None
    return About(row["run"], known, row["rows_run"], row["seconds"], row["peak_megabytes"])


def _of(rows: Sequence[Row], texts: Container[str]) -> list[Row]:
    return [row for row in rows if row["example_id"] in texts]


def _ids(rows: Iterable[Row]) -> set[str]:
    return {row["example_id"] for row in rows}


def _whole(listed: Sequence[Row], *stored: Sequence[Row]) -> set[str]:
    """Return the texts of which every table has all rows."""
    counts = [Counter(row["example_id"] for row in rows) for rows in stored]
    names = ("explanations", "scores", "curves")
    return {
        one["example_id"]
        for one in listed
        if all(count[one["example_id"]] == one[name] for count, name in zip(counts, names, strict=True))
    }
