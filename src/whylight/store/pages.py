"""Pages of a run: what one text gave, kept until it is written, and written with others as the parts of a shard."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa

from whylight.core.identity import LENGTH, digest
from whylight.store import files, tables
from whylight.store.commits import SUM, Commit, commit_of
from whylight.store.parts import COMMITS, SCHEMAS, TIMINGS, path_of
from whylight.store.tables import Row

MEASURED = ("rows_run", "seconds", "peak_megabytes")
"""What may be another when the same text is done again."""


@dataclass(frozen=True, slots=True)
class Page:
    """What one text gave, as it is kept until it is written.

    Attributes:
        text: Its row of `texts`.
        timing: Its row of `timings`.
        batches: Its rows of the other tables.
    """

    text: Row
    timing: Row
    batches: dict[str, pa.RecordBatch]

    @property
    def number(self) -> int:
        """The place of the text in its data."""
        return int(self.text["number"])

    @property
    def nbytes(self) -> int:
        """Bytes that the rows take."""
        return sum(batch.nbytes for batch in self.batches.values())

    def follows(self, other: "Page") -> bool:
        """Say whether one commit may hold the other text and, right after it, this one."""
        return (self.text["tuning"], self.number) == (other.text["tuning"], other.number + 1)


def page_of(text: Row, rows: Mapping[str, Sequence[Row]], measured: Row) -> Page:
    """Return what one text gave, ready to be written.

    Args:
        text: What is known of the text: `run`, `number`, `example_id`, `tuning`, `holds`, `record`, `status`, `reason`.
        rows: Its rows, by table.
        measured: What it took: `MEASURED`, and `host`.
    """
    explained = rows.get("tuning" if text["tuning"] else "explanations", ())
    timing = {**measured, "number": text["number"], "explained": [row["seconds"] for row in explained]}
    plain = {name: [_unmeasured(row) for row in own] for name, own in rows.items()}
    batches = {name: pa.RecordBatch.from_pylist(own, schema=SCHEMAS[name]) for name, own in plain.items() if own}
    counts = {name: len(rows.get(name, ())) for name in ("scores", "curves")} | {"explanations": len(explained)}
    whole = {**text, **counts, **dict.fromkeys(MEASURED)}
    return Page(
        {**whole, "digest": digest([whole, *chain.from_iterable(plain.values())])[: 2 * LENGTH]}, timing, batches
    )


def _unmeasured(row: Row) -> Row:
    return {**row, "seconds": None} if "seconds" in row else row


def write_parts(folder: Path, pages: Sequence[Page]) -> Commit:
    """Write what consecutive texts gave; the commit comes last.

    Raises:
        InputError: It cannot be written there; nothing of it counts then.
    """
    stem = f"{pages[0].number:08d}-{digest([page.text['digest'] for page in pages])[:LENGTH]}"
    sums = {}
    for name, schema in SCHEMAS.items():
        own = [page.batches[name] for page in pages if name in page.batches]
        if own:
            sums[name] = _write_part(folder / name, stem, pa.Table.from_batches(own, schema=schema).combine_chunks())
    timings = pa.Table.from_pylist([page.timing for page in pages], schema=tables.TIMINGS)
    _write_part(folder / TIMINGS, stem, timings)
    schema = tables.TEXTS.with_metadata({f"{SUM}{name}": own for name, own in sums.items()})
    texts = pa.Table.from_pylist([page.text for page in pages], schema=schema)
    _write_part(folder / COMMITS, stem, texts)
    return commit_of(path_of(folder / COMMITS, stem), texts, timings)


def pages_in(folder: Path, one: Commit) -> Iterator[Page]:
    """Read back the pages that a commit was made of.

    Raises:
        InputError: A file is damaged.
    """
    texts: list[Row] = tables.read_table(path_of(folder / COMMITS, one.stem), tables.TEXTS).to_pylist()
    known = tables.read(path_of(folder / TIMINGS, one.stem), tables.TIMINGS)
    lost = [{"number": row["number"], "explained": [math.nan] * row["explanations"]} for row in texts]
    made = {
        name: tables.read_table(path_of(folder / name, one.stem), schema).cast(schema)
        for name, schema in SCHEMAS.items()
        if one.rows[name]
    }
    places = dict.fromkeys(made, 0)
    for place, (text, timing) in enumerate(zip(texts, known if len(known) == len(texts) else lost, strict=True)):
        batches = {}
        for name, table in made.items():
            rows = one.counts[name][place]
            if rows:
                batches[name] = table.slice(places[name], rows).combine_chunks().to_batches()[0]
            places[name] += rows
        yield Page(text, timing, batches)


def supersede(folder: Path, old: Sequence[Commit], pages: Sequence[Page]) -> Commit:
    """Write pages as one commit that stands for several others, and remove these; a kill in between harms nothing.

    Raises:
        InputError: It cannot be written there; the others are still there then.
    """
    made = write_parts(folder, pages)
    _remove(folder, [one for one in old if one.stem != made.stem])
    return made


def without_failed(folder: Path, one: Commit) -> list[Commit]:
    """Have commits without the texts that failed stand for one with them, and return these: the texts are missing then.

    Raises:
        InputError: They cannot be written there; the one is still there then.
    """
    if not one.failed:
        return [one]
    made: list[list[Page]] = []
    for page in (page for page in pages_in(folder, one) if page.number not in one.failed):
        if made and page.follows(made[-1][-1]):
            made[-1].append(page)
        else:
            made.append([page])
    found = [write_parts(folder, own) for own in made]
    _remove(folder, [one])
    return found


def _remove(folder: Path, commits: Sequence[Commit]) -> None:
    for name in (COMMITS, *SCHEMAS, TIMINGS):  # commits first, as when a folder is tidied up
        with files.said(folder / name):
            for one in commits:
                path_of(folder / name, one.stem).unlink(missing_ok=True)


def _write_part(place: Path, stem: str, table: pa.Table) -> str:
    files.make_folder(place)
    return tables.write_summed(path_of(place, stem), table)
