"""A run read back from its folder: the rows of the texts that are done, and no others.

`manifest.json` says whose run it is: the number of the form, the name of the run, what was asked, the columns of that
in their order, the names and columns of what was asked before, where a run was asked for more, how many texts a shard
has, how far the run had come when it was complete before, and the software that made it. It is written before any work,
and anew before more is added. The rest are parts (`store/parts.py`), and `_SUCCESS`, which is there if all that was
asked is done.

Readers get the columns that every text has of which there is anything: what was added to some texts, and then stopped,
is left out, so that all figures are of the same texts; `Stored.left_out` names it.

The form 3 had hashes of the whole data instead of one of each record, times in its parts, and no shards; the form 2 had
no columns: all that was asked of a text came at once. Versions before it had one file per table, and
`runs.parquet` with one row, written last: a text is done if it is listed there and every table has as many rows of it
as are listed. Version 0.1 did not list them. Folders with one file per table are read, not written in.
"""

import json
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whylight.core.errors import InputError
from whylight.core.inputs import JsonValue
from whylight.store import columns, files, parts, tables
from whylight.store.columns import EXPLAINED, NOTHING, Cell, Cells, Columns
from whylight.store.commits import Commit, counting, failures, held
from whylight.store.explanations import upgraded
from whylight.store.tables import Row

MANIFEST = "manifest.json"
FORM = 4
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
class Manifest:
    """Whose run a folder holds.

    Attributes:
        run: The run's name.
        asked: The question, all that was asked of the folder; None where that cannot be read.
        columns: The columns of it; None where it is of a version that did not say them.
        earlier: The cells of what was asked before, by the name that the run had then.
        shard: The most texts of a shard; None where it is of a version that had none.
        data: A hash of all data, where it is of a version that kept none of each record.
        grown: What `_SUCCESS` said whenever the run was complete, and was then asked for more texts or columns.
        software: Versions of what computed its numbers, as often as they changed; those that noted none are not there.
    """

    run: str
    asked: dict[str, JsonValue] | None
    columns: Columns | None = None
    earlier: Mapping[str, Cells] = field(default_factory=dict)
    shard: int | None = None
    data: str | None = None
    grown: Sequence[Mapping[str, JsonValue]] = ()
    software: Sequence[dict[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """A run in a folder.

    Attributes:
        about: What the folder says of its run; None if it says nothing.
        explanations: Rows of the texts that are done.
        scores: Likewise.
        curves: Likewise.
        tuning: Explanations of the tuning texts that are done.
        runs: Names of all runs that something is of.
        commits: What is complete; None in a folder with one file per table.
        manifest: Whose run it is, where there is a file that says so.
        left_out: Methods and metrics of which nothing is shown, since some of the texts have not got them yet.
        failed: How many texts have failed: no row is of them.
        texts: What is noted of each text, the tuning texts among them; a text that was asked for more has several rows.
    """

    about: About | None
    explanations: Sequence[Row]
    scores: Sequence[Row]
    curves: Sequence[Row]
    tuning: Sequence[Row]
    runs: frozenset[str]
    commits: tuple[Commit, ...] | None
    manifest: Manifest | None = None
    left_out: tuple[str, ...] = ()
    failed: int = 0
    texts: Sequence[Row] = ()


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
    there = parts.listed(folder)  # before the manifest, which is written before what it speaks of
    manifest = manifest_in(folder)
    known = tuple(counting(there, {} if manifest is None else manifest.earlier))
    names = {one.run for one in known}
    names |= set(parts.strays(folder, known)) if manifest is None else {manifest.run}
    shown = [_shown(known, manifest, tuning=tuning) for tuning in (False, True)]
    run = None if manifest is None else manifest.run
    explanations, scores, curves, tuning = (
        parts.stored_rows(folder, known, name, ranks=shown[name == "tuning"], run=run) for name in parts.SCHEMAS
    )
    about = None if manifest is None else about_of(manifest.run, manifest.asked, known)
    left_out = _left_out(manifest, shown[False])
    texts = parts.stored_rows(folder, known, parts.COMMITS)
    tables_of = (explanations, scores, curves, tuning)
    return Stored(about, *tables_of, frozenset(names), known, manifest, left_out, failures(known), texts)


def _left_out(manifest: Manifest | None, shown: Mapping[Cell, int] | None) -> tuple[str, ...]:
    """Name the methods and metrics that were asked for and of which nothing is shown."""
    if manifest is None or manifest.columns is None or not shown:
        return ()
    methods = [one for one in manifest.columns.methods if (one, EXPLAINED) not in shown]
    metrics = {metric for _, metric, _ in manifest.columns.measures} - {metric for _, (_, metric, _) in shown}
    return (*methods, *sorted(filter(None, metrics)))


def _shown(known: Sequence[Commit], manifest: Manifest | None, *, tuning: bool) -> dict[Cell, int] | None:
    """Return the order of the cells that all texts have; None where nobody says what there is."""
    if manifest is None or manifest.columns is None:
        return None
    every = {cells for cells in held(known, tuning=tuning).values() if cells is not None}
    return manifest.columns.ranks(frozenset.intersection(*every) if every else NOTHING)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write whose run a folder holds.

    Raises:
        InputError: It cannot be written there.
    """
    content: dict[str, object] = {"form": FORM, "run": manifest.run, "asked": manifest.asked}
    if manifest.columns is not None:
        content |= {"columns": manifest.columns.to_json()}
    if manifest.earlier:
        content |= {"earlier": {name: columns.written(cells) for name, cells in manifest.earlier.items()}}
    content |= {name: own for name in ("shard", "data", "grown", "software") if (own := getattr(manifest, name))}
    files.write(folder / MANIFEST, json.dumps(content, indent=1, sort_keys=True).encode())


def about_of(run: str, asked: dict[str, JsonValue] | None, known: Sequence[Commit]) -> About:
    """Add up what commits took."""
    peaks = [one.peak_megabytes for one in known if one.peak_megabytes is not None]
    return About(
        run, asked, sum(one.rows_run for one in known), sum(one.seconds for one in known), max(peaks, default=None)
    )


def manifest_in(folder: Path) -> Manifest | None:
    """Return whose run a folder holds, if it says so."""
    path = folder / MANIFEST
    with files.said(path, doing="read"):
        if not path.exists():
            return None
        content = path.read_bytes()
    broken = InputError(f"'{path}' is damaged or not of a run; remove it, and run the same command again.")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise broken from None
    if not isinstance(found, dict) or not isinstance(found.get("run"), str) or not isinstance(found.get("form"), int):
        raise broken
    if found["form"] > FORM:
        raise InputError(f"'{path}' is of a later version of whylight (form {found['form']}); update whylight.")
    asked, said = found.get("asked"), found.get("columns")
    try:
        own = None if said is None else Columns.from_json(said)
        earlier = {name: columns.read(cells) for name, cells in found.get("earlier", {}).items()}
        shard = None if found.get("shard") is None else int(found["shard"])
        grown = [dict(one) for one in found.get("grown", ())]
        software = [dict(one) for one in found.get("software", ())]
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise broken from None
    asked = asked if isinstance(asked, dict) else None
    data = found.get("data") if found["form"] >= FORM else _data_of(asked)
    return Manifest(found["run"], asked, own, earlier, shard, data, grown, software)


def _data_of(asked: Mapping[str, Any] | None) -> str | None:
    """Take the hash of all data out of what was asked of a version that had no hash of each record."""
    contents = (asked or {}).get("contents")
    return contents.pop("data", None) if isinstance(contents, dict) else None


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
