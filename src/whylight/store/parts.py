"""The parts of a run: tables that only grow, one file per flush, and one file that says that a flush is complete.

A flush writes what some consecutive texts gave: `explanations/STEM.parquet` and likewise `scores`, `curves` and
`tuning`, then `texts/STEM.parquet`. The last one is the commit, the one source of what is done. A stem is the place of
the first text in its data and a hash of what the texts gave, times aside, so that sorted names give the order of the
data.

- A part without a commit is left out by readers, and removed by the next writer. A kill leaves such parts.
- A commit counts if every table has a part of its stem with as many rows as it lists (by the metadata of the files),
  and no commit before it holds a cell of a text that it holds, too. Otherwise the writer removes it, and what it held
  is done anew.

A commit says of each text which cells it holds (`store/columns.py`). A run that is asked for more gets further commits
of the same texts, which hold what was missing.

Nothing is rewritten: time and memory per text do not depend on how many there are.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from whylight.core.identity import LENGTH, digest
from whylight.store import columns, files, tables
from whylight.store.columns import Cell
from whylight.store.commits import Commit, commit_of
from whylight.store.rows import Part, StoredRows
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


def page_of(text: Row, rows: Mapping[str, Sequence[Row]]) -> Page:
    """Return what one text gave, ready to be written.

    Args:
        text: What is known of the text: `run`, `number`, `example_id`, `tuning`, `holds` and what it cost.
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
    return commit_of(_path(folder / COMMITS, stem), texts)


def listed(folder: Path) -> list[Commit]:
    """Return the commits of a folder that have all of their rows, in the order of their names.

    Raises:
        InputError: A file cannot be read.
    """
    there = {name: _parts(folder / name) for name in SCHEMAS}
    known = _parts(folder / COMMITS).items()
    found = (commit_of(path, tables.read_table(path, tables.TEXTS, earlier=True)) for _, path in sorted(known))
    return [one for one in found if _is_whole(one, there)]


def stored_rows(
    folder: Path,
    known: Sequence[Commit],
    name: str,
    *,
    ranks: Mapping[Cell, int] | None = None,
    run: str | None = None,
) -> StoredRows:
    """Return the rows that commits have of a table.

    Args:
        folder: The folder.
        known: Its commits.
        name: The table.
        ranks: The cells that are asked for, and their order; by default all, as they were written.
        run: What rows shall call their run; by default what each was written under.
    """
    if name == COMMITS:
        each = (Part(_path(folder / name, one.stem), one.numbers[0], (1,) * len(one.numbers)) for one in known)
        return StoredRows(name, tables.TEXTS, tuple(each))
    own = [
        Part(_path(folder / name, one.stem), one.numbers[0], one.counts[name], _all_asked(one, name, ranks))
        for one in known
        if one.rows[name]
    ]
    return StoredRows(name, SCHEMAS[name], tuple(own), ranks, run)


def _all_asked(one: Commit, name: str, ranks: Mapping[Cell, int] | None) -> bool:
    """Say whether all rows that a commit has of a table are asked for."""
    if ranks is None:
        return True
    return all(held is not None and columns.of_table(name, held) <= ranks.keys() for held in set(one.holds))


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
        for part in stored_rows(folder, known, name).parts:
            tables.read_table(part.path, schema)


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
