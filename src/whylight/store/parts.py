"""The parts of a run: one file per table and shard, and one file that says that a shard is complete.

A shard is some consecutive texts. What they gave is written as `explanations/STEM.parquet` and likewise `scores`,
`curves` and `tuning`, what it took as `timings/STEM.parquet`, and then `texts/STEM.parquet`. The last one is the
commit, the one source of what is done; it has the hashes of the parts. A stem is the place of the first text in its
data and a hash of what the texts gave. Nothing that is measured stands in a part or in a commit, so that these are the
same bytes whenever and wherever the work is done, and sorted names give the order of the data.

- A part without a commit is left out by readers, and removed by the next writer. A kill leaves such parts.
- A commit counts if every table has a part of its stem with as many rows as it lists (by the metadata of the files),
  and no commit before it holds a cell of a text that it holds, too. Otherwise the writer removes it.
- Work on a long shard is written in between, as commits of fewer texts. When the shard is complete, one commit stands
  for all of them (`supersede`): it is written before they are removed, and counts if both are there.

A commit says of each text which cells it holds (`store/columns.py`). A run that is asked for more gets further commits
of the same texts, which hold what was missing.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import pyarrow.compute as pc

from whylight.core.identity import LENGTH
from whylight.store import columns, files, tables
from whylight.store.columns import Cell, Cells
from whylight.store.commits import Commit, commit_of, counting
from whylight.store.rows import Part, StoredRows

SCHEMAS = {
    "explanations": tables.EXPLANATIONS,
    "scores": tables.SCORES,
    "curves": tables.CURVES,
    "tuning": tables.EXPLANATIONS,
}
"""The tables that a commit vouches for, by the name of their folder."""
COMMITS, TIMINGS = "texts", "timings"
_STEM = re.compile(rf"\d{{8,}}-[0-9a-f]{{{LENGTH}}}")


def listed(folder: Path) -> list[Commit]:
    """Return the commits of a folder that have all of their rows, in the order of their names.

    Raises:
        InputError: A file cannot be read.
    """
    return [one for one in map(partial(read_commit, folder), stems_in(folder)) if one is not None]


def stems_in(folder: Path) -> list[str]:
    """Return the names of the commits of a folder, whether or not they count, in their order."""
    return sorted(_parts(folder / COMMITS))


def commit_sum(folder: Path, stem: str) -> str:
    """Return the SHA-256 of the file of a commit."""
    path = path_of(folder / COMMITS, stem)
    with files.said(path, doing="read"):
        return hashlib.sha256(path.read_bytes()).hexdigest()


def first_of(stem: str) -> int:
    """Return the place of the first text of a commit."""
    return int(stem.partition("-")[0])


def read_commit(folder: Path, stem: str) -> Commit | None:
    """Return a commit, or None if a part lacks rows of it.

    Raises:
        InputError: A file cannot be read.
    """
    path, timings = path_of(folder / COMMITS, stem), path_of(folder / TIMINGS, stem)
    texts = tables.read_table(path, tables.TEXTS, earlier=True)
    one = commit_of(path, texts, tables.read_table(timings, tables.TIMINGS) if timings.exists() else None)
    return one if _is_whole(folder, one) else None


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
    named = [(one, path_of(folder / name, one.stem), path_of(folder / TIMINGS, one.stem)) for one in known]
    if name == COMMITS:
        each = (Part(path, one.numbers.start, (1,) * len(one.numbers), timings=timings) for one, path, timings in named)
        return StoredRows(name, tables.TEXTS, tuple(each))
    own = [
        Part(path, one.numbers.start, one.counts[name], _all_asked(one, name, ranks), timings)
        for one, path, timings in named
        if one.rows[name]
    ]
    return StoredRows(name, SCHEMAS[name], tuple(own), ranks, run)


def _all_asked(one: Commit, name: str, ranks: Mapping[Cell, int] | None) -> bool:
    """Say whether all rows that a commit has of a table are asked for."""
    if ranks is None:
        return True
    return all(held is not None and columns.of_table(name, held) <= ranks.keys() for held in set(one.holds))


def each_that_counts(folder: Path, earlier: Mapping[str, Cells]) -> Iterator[Commit]:
    """Yield the commits of a folder that count, in the memory of those that have texts in common.

    Args:
        folder: The folder.
        earlier: What runs asked for before, by their names.
    """
    held: list[Commit] = []
    for stem in stems_in(folder):
        if held and first_of(stem) >= max(one.numbers.stop for one in held):
            yield from counting(held, earlier)
            held = []
        one = read_commit(folder, stem)
        held += [] if one is None else [one]
    yield from counting(held, earlier)


def tidy(folder: Path, known: Iterable[Commit]) -> None:
    """Remove what no commit vouches for, and what a killed process left half-written.

    Args:
        folder: The folder, which the caller has claimed.
        known: Its commits that count.

    Raises:
        InputError: A file cannot be removed.
    """
    stems: set[str] = set()
    vouched: dict[str, set[str]] = {name: set() for name in SCHEMAS}
    for one in known:
        stems.add(one.stem)
        for name in (name for name, rows in one.rows.items() if rows):
            vouched[name].add(one.stem)
    # commits first: a kill in between leaves parts without one, never one without its parts
    for name, own in {COMMITS: stems, **vouched, TIMINGS: stems}.items():
        place = folder / name
        gone = [path for stem, path in _parts(place).items() if stem not in own]
        with files.said(place):
            for path in (*gone, *place.glob(f".*{files.PART}*")):
                path.unlink(missing_ok=True)


def check_sums(folder: Path, one: Commit) -> None:
    """Read every part of a commit once, and hold its bytes against their hash.

    Raises:
        InputError: One is damaged.
    """
    for name, right in one.sums.items():
        path = path_of(folder / name, one.stem)
        with files.said(path, doing="read"):
            found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != right:
            raise tables.damaged(path, "its bytes have changed")


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


def _is_whole(folder: Path, one: Commit) -> bool:
    """Say whether every table has all rows that a commit lists."""
    for name, rows in one.rows.items():
        path = path_of(folder / name, one.stem)
        if rows and (not path.exists() or tables.row_count(path) != rows):
            return False
    return True


def _parts(place: Path) -> dict[str, Path]:
    """Return the parts in a folder by their stems; other files are nobody's business."""
    with files.said(place, doing="read"):
        found = sorted(place.iterdir()) if place.is_dir() else []
    return {path.stem: path for path in found if path.suffix == ".parquet" and _STEM.fullmatch(path.stem)}


def path_of(place: Path, stem: str) -> Path:
    """Return the file of a part in the folder of its table."""
    return place / f"{stem}.parquet"
