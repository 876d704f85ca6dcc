"""The parts of a run: tables that only grow, one file per flush, and one file that says that a flush is complete.

A flush writes what some consecutive texts gave: `explanations/STEM.parquet` and likewise `scores`, `curves` and
`tuning`, then `texts/STEM.parquet`. The last one is the commit, the one source of what is done. A stem is the place of
the first text in its data and a hash of what the texts gave, times aside, so that sorted names give the order of the
data.

- A part without a commit is left out by readers, and removed by the next writer. A kill leaves such parts.
- A commit counts if every table has a part of its stem with as many rows as it lists (by the metadata of the files),
  and no commit before it lists one of its texts. Otherwise the writer removes it, and its texts are done anew.

Nothing is rewritten: time and memory per text do not depend on how many there are.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import overload

import pyarrow as pa
import pyarrow.compute as pc

from whylight.core.errors import InputError
from whylight.core.identity import LENGTH, digest
from whylight.store import files, tables
from whylight.store.tables import Row

SCHEMAS = {
    "explanations": tables.EXPLANATIONS,
    "scores": tables.SCORES,
    "curves": tables.CURVES,
    "tuning": tables.EXPLANATIONS,
}
"""The tables that a commit vouches for, by the name of their folder."""
COMMITS = "texts"
_STEM = re.compile(rf"\d{{8,}}-[0-9a-f]{{{LENGTH}}}")
_MEASURED = ("seconds", "rows_run", "peak_megabytes")
"""What may be another when the same text is done again."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One flush that is complete.

    Attributes:
        stem: What its files are called.
        run: Name of the run that it is of.
        tuning: Whether its texts are those that boundaries are tuned on.
        numbers: Places of its texts in their data.
        rows: How many rows each table has of it.
        rows_run: Inputs that the model was given for it.
        seconds: What its texts took.
        peak_megabytes: The most memory of the process by then, where the system tells.
    """

    stem: str
    run: str
    tuning: bool
    numbers: tuple[int, ...]
    rows: Mapping[str, int]
    rows_run: int
    seconds: float
    peak_megabytes: float | None


@dataclass(frozen=True, slots=True)
class Page:
    """What one text gave, as it is kept until it is written.

    Attributes:
        text: Its row of `texts`.
        batches: Its rows of the other tables.
        hash: Of those rows, times aside.
    """

    text: Row
    batches: dict[str, pa.RecordBatch]
    hash: str

    @property
    def nbytes(self) -> int:
        """Bytes that the rows take."""
        return sum(batch.nbytes for batch in self.batches.values())

    def follows(self, other: "Page") -> bool:
        """Say whether one commit may hold the other text and, right after it, this one."""
        return (self.text["tuning"], self.text["number"]) == (other.text["tuning"], other.text["number"] + 1)


@dataclass(frozen=True, slots=True, eq=False)
class StoredRows(Sequence[Row]):
    """The rows of one table in the order of the data, read one part at a time, as often as they are asked for."""

    schema: pa.Schema
    parts: tuple[tuple[Path, int], ...] = ()

    def __len__(self) -> int:
        return sum(count for _, count in self.parts)

    def __iter__(self) -> Iterator[Row]:
        for path, count in self.parts:
            yield from self._read(path, count)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            places = range(len(self))[index]
            forward = places if places.step > 0 else places[::-1]
            found = list(islice(self, forward.start, forward.stop, forward.step))
            return found if places.step > 0 else found[::-1]
        place = range(len(self))[index]
        for path, count in self.parts:
            if place < count:
                return self._read(path, count)[place]
            place -= count
        raise IndexError(index)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # rows are mutable

    def _read(self, path: Path, count: int) -> list[Row]:
        rows: list[Row] = tables.read_table(path, self.schema).to_pylist()
        if len(rows) != count:
            raise InputError(f"'{path}' has {len(rows)} rows, and had {count}; something else writes in the folder.")
        return rows


def page_of(text: Row, rows: Mapping[str, Sequence[Row]]) -> Page:
    """Return what one text gave, ready to be written.

    Args:
        text: What is known of the text: `run`, `number`, `example_id`, `tuning` and what it cost.
        rows: Its rows, by table.
    """
    lasting = [{**row, **dict.fromkeys(_MEASURED)} for row in (text, *chain.from_iterable(rows.values()))]
    batches = {name: pa.RecordBatch.from_pylist(list(own), schema=SCHEMAS[name]) for name, own in rows.items() if own}
    counts = {name: len(rows.get(name, ())) for name in ("scores", "curves")}
    counts["explanations"] = len(rows.get("tuning" if text["tuning"] else "explanations", ()))
    return Page({**text, **counts}, batches, digest(lasting))


def write_parts(folder: Path, pages: Sequence[Page]) -> Commit:
    """Write what consecutive texts gave; the commit comes last.

    Raises:
        InputError: It cannot be written there; nothing of it counts then.
    """
    texts = pa.Table.from_pylist([page.text for page in pages], schema=tables.TEXTS)
    stem = f"{pages[0].text['number']:08d}-{digest([page.hash for page in pages])[:LENGTH]}"
    for name, schema in SCHEMAS.items():
        own = [page.batches[name] for page in pages if name in page.batches]
        if own:
            _write_part(folder / name, stem, pa.Table.from_batches(own, schema=schema).combine_chunks())
    _write_part(folder / COMMITS, stem, texts)
    return _commit(stem, texts)


def commits(folder: Path) -> list[Commit]:
    """Return the commits of a folder that count, in the order of their names.

    Raises:
        InputError: A file cannot be read.
    """
    there = {name: _parts(folder / name) for name in SCHEMAS}
    seen: set[tuple[bool, int]] = set()
    found = []
    for stem, path in sorted(_parts(folder / COMMITS).items()):
        one = _commit(stem, tables.read_table(path, tables.TEXTS))
        own = {(one.tuning, number) for number in one.numbers}
        if _is_whole(one, there) and not own & seen:
            seen |= own
            found.append(one)
    return found


def stored_rows(folder: Path, known: Sequence[Commit], name: str) -> StoredRows:
    """Return the rows that commits have of a table."""
    if name == COMMITS:
        sizes = [(one.stem, len(one.numbers)) for one in known]
        return StoredRows(tables.TEXTS, tuple((_path(folder / name, stem), size) for stem, size in sizes))
    own = [(_path(folder / name, one.stem), one.rows[name]) for one in known if one.rows[name]]
    return StoredRows(SCHEMAS[name], tuple(own))


def tidy(folder: Path, known: Sequence[Commit]) -> None:
    """Remove what no commit vouches for, and what a killed process left half-written.

    Args:
        folder: The folder, which the caller has claimed.
        known: Its commits that count.

    Raises:
        InputError: A file cannot be removed.
    """
    vouched = {_path(folder / COMMITS, one.stem) for one in known}
    vouched |= {_path(folder / name, one.stem) for one in known for name, rows in one.rows.items() if rows}
    # commits first: a kill in between leaves parts without one, never one without its parts
    for place in (folder / COMMITS, *(folder / name for name in SCHEMAS)):
        gone = [path for path in _parts(place).values() if path not in vouched]
        with files.said(place):
            for path in (*gone, *place.glob(f".*{files.PART}*")):
                path.unlink()


def check_parts(folder: Path, known: Sequence[Commit]) -> None:
    """Read every part of some commits once, so that damage is known before more work is done.

    Raises:
        InputError: One is damaged.
    """
    for name, schema in SCHEMAS.items():
        for path, _ in stored_rows(folder, known, name).parts:
            tables.read_table(path, schema)


def strays(folder: Path, known: Sequence[Commit]) -> Iterator[str]:
    """Yield the names of runs that parts without a commit are of.

    Raises:
        InputError: One is damaged.
    """
    stems = {one.stem for one in known}
    for name, schema in SCHEMAS.items():
        for stem, path in _parts(folder / name).items():
            if stem not in stems:
                yield from map(str, pc.unique(tables.read_table(path, schema).column("run")).to_pylist())


def _commit(stem: str, texts: pa.Table) -> Commit:
    own: list[Row] = texts.select(["run", "tuning"]).group_by(["run", "tuning"]).aggregate([]).to_pylist()
    if len(own) != 1:
        raise InputError(f"the commit '{stem}' is of {len(own)} runs or kinds of texts, not of one; remove it.")
    tuning: bool = own[0]["tuning"]
    sums = {name: int(pc.sum(texts.column(name)).as_py()) for name in ("explanations", "scores", "curves", "rows_run")}
    rows = {name: sums[name] for name in ("scores", "curves")}
    rows |= {name: sums["explanations"] * (tuning is (name == "tuning")) for name in ("explanations", "tuning")}
    return Commit(
        stem=stem,
        run=own[0]["run"],
        tuning=tuning,
        numbers=tuple(texts.column("number").to_numpy().tolist()),
        rows=rows,
        rows_run=sums["rows_run"],
        seconds=pc.sum(texts.column("seconds")).as_py(),
        peak_megabytes=pc.max(texts.column("peak_megabytes")).as_py(),
    )


def _is_whole(one: Commit, there: Mapping[str, Mapping[str, Path]]) -> bool:
    """Say whether every table has all rows that a commit lists."""
    for name, rows in one.rows.items():
        path = there[name].get(one.stem)
        if rows and (path is None or tables.row_count(path) != rows):
            return False
    return True


def _parts(place: Path) -> dict[str, Path]:
    """Return the parts in a folder by their stems; other files are nobody's business."""
    with files.said(place, doing="read"):
        found = sorted(place.iterdir()) if place.is_dir() else []
    return {path.stem: path for path in found if path.suffix == ".parquet" and _STEM.fullmatch(path.stem)}


def _path(place: Path, stem: str) -> Path:
    return place / f"{stem}.parquet"


def _write_part(place: Path, stem: str, table: pa.Table) -> None:
    with files.said(place):
        place.mkdir(exist_ok=True)
    tables.write_table(_path(place, stem), table)
