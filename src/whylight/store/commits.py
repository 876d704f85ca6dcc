"""Commits of a run: which texts a flush is of, what it holds of them, and which flushes count."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from whylight.core.errors import InputError
from whylight.store import columns, tables
from whylight.store.columns import NOTHING, Cells

DONE, FAILED = "done", "failed"
"""What became of a text."""
SUM = "sha256 "
"""How the name of an entry of a commit begins that has the hash of a part."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One flush that is complete.

    Attributes:
        stem: What its files are called.
        run: Name of the run that it is of.
        tuning: Whether its texts are those that boundaries are tuned on.
        numbers: Places of its texts in their data.
        holds: The cells that it holds of each; None where it is of a version that wrote all of a run at once.
        counts: How many rows each table has of each.
        records: A hash of each record; None where it is of a version that did not note them.
        failed: Places of the texts that failed.
        sums: SHA-256 of the part of each table; of a version that noted them.
        rows_run: Inputs that the model was given for it.
        seconds: What its texts took.
        peak_megabytes: The most memory of the process by then, where the system tells.
    """

    stem: str
    run: str
    tuning: bool
    numbers: range
    holds: tuple[Cells | None, ...]
    counts: Mapping[str, tuple[int, ...]]
    records: tuple[str | None, ...]
    failed: tuple[int, ...]
    sums: Mapping[str, str]
    rows_run: int
    seconds: float
    peak_megabytes: float | None

    @property
    def rows(self) -> dict[str, int]:
        """How many rows each table has of it."""
        return {name: sum(counts) for name, counts in self.counts.items()}


def counting(known: Sequence[Commit], earlier: Mapping[str, Cells]) -> list[Commit]:
    """Return the commits that count: those of which no cell is in a commit that comes before them.

    Of commits that begin with the same text the one with more texts comes first, then the one with fewer failures: it
    was made to stand for the other, which a kill may have left behind.

    Args:
        known: Commits that have all of their rows, in the order of their names.
        earlier: What runs asked for; what their commits hold if these do not say it.
    """
    seen: dict[tuple[bool, int], Cells | None] = {}
    found = []
    for one in sorted(known, key=lambda own: (own.numbers.start, -len(own.numbers), len(own.failed), own.stem)):
        own = replace(one, holds=tuple(earlier.get(one.run) if cells is None else cells for cells in one.holds))
        pairs = [((one.tuning, number), cells) for number, cells in zip(own.numbers, own.holds, strict=True)]
        if not any(key in seen and _overlap(seen[key], cells) for key, cells in pairs):
            seen.update((key, _both(seen.get(key, NOTHING), cells)) for key, cells in pairs)
            found.append(own)
    return sorted(found, key=lambda own: own.stem)


def held(known: Sequence[Commit], *, tuning: bool = False) -> dict[int, Cells | None]:
    """Return the cells that there are of each text, by its place in the data; None where nobody says."""
    found: dict[int, Cells | None] = {}
    for one in known:
        if one.tuning is tuning:
            for number, cells in zip(one.numbers, one.holds, strict=True):
                found[number] = _both(found.get(number, NOTHING), cells)
    return found


def failures(known: Sequence[Commit]) -> int:
    """Return how many texts have failed, those that boundaries are tuned on aside."""
    return len({number for one in known if not one.tuning for number in one.failed})


def _overlap(one: Cells | None, other: Cells | None) -> bool:
    return one is None or other is None or not one.isdisjoint(other)


def _both(one: Cells | None, other: Cells | None) -> Cells | None:
    return None if one is None or other is None else columns.joined(one, other)


def commit_of(path: Path, texts: pa.Table, timings: pa.Table | None) -> Commit:
    """Return the commit that a table of texts is.

    Args:
        path: Its file.
        texts: The table.
        timings: What its texts took; where there is none, versions that had none noted it in the table itself.

    Raises:
        InputError: It is of several runs, or does not say what it holds.
    """
    own: list[tables.Row] = texts.select(["run", "tuning"]).group_by(["run", "tuning"]).aggregate([]).to_pylist()
    if len(own) != 1:
        raise InputError(f"the commit '{path.stem}' is of {len(own)} runs or kinds of texts, not of one; remove it.")
    tuning: bool = own[0]["tuning"]
    made = {name: tuple(texts.column(name).to_numpy().tolist()) for name in ("explanations", "scores", "curves")}
    other = (0,) * len(texts)
    counts = {**made, "explanations": other, "tuning": made["explanations"]} if tuning else {**made, "tuning": other}
    first, measured = texts.column("number")[0].as_py(), texts if timings is None else timings
    said = {key.decode(): value.decode() for key, value in (texts.schema.metadata or {}).items()}
    return Commit(
        stem=path.stem,
        run=own[0]["run"],
        tuning=tuning,
        numbers=range(first, first + len(texts)),
        holds=_holds(path, texts),
        counts=counts,
        records=tuple(_column(texts, "record")),
        failed=tuple(first + place for place, one in enumerate(_column(texts, "status")) if one == FAILED),
        sums={key.removeprefix(SUM): value for key, value in said.items() if key.startswith(SUM)},
        rows_run=int(pc.sum(measured.column("rows_run")).as_py() or 0),
        seconds=pc.sum(measured.column("seconds")).as_py() or 0.0,
        peak_megabytes=pc.max(measured.column("peak_megabytes")).as_py(),
    )


def _column(texts: pa.Table, name: str) -> list[str | None]:
    """Return a column that versions before did not have."""
    found: list[str | None] = texts.column(name).to_pylist() if name in texts.column_names else [None] * len(texts)
    return found


def _holds(path: Path, texts: pa.Table) -> tuple[Cells | None, ...]:
    """Return the cells of each text; the same object for all that hold the same."""
    if "holds" not in texts.column_names:
        return (None,) * len(texts)
    column = texts.column("holds").combine_chunks().dictionary_encode()
    try:
        known = [columns.read(one) for one in column.dictionary.to_pylist()]
    except (ValueError, RecursionError):
        raise tables.damaged(path, "it does not say what it holds") from None
    return tuple(None if place is None else known[place] for place in column.indices.to_pylist())
