"""The rows of one table of a run, read from its parts: in the order of the data, and in that of the columns.

What is known of a text may stand in several parts, since a run can be asked for more later. So the data is gone through
in stretches of texts, each with the parts that hold something of it: memory is that of these parts, not of the table.
"""

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import overload

import pyarrow as pa

from whylight.core.errors import InputError
from whylight.store import tables
from whylight.store.columns import Cell, in_order
from whylight.store.tables import Row


@dataclass(frozen=True, slots=True)
class Part:
    """A file of rows of consecutive texts.

    Attributes:
        path: The file.
        first: Place of its first text in the data.
        counts: Rows of each text.
        whole: Whether all of its rows are asked for.
        timings: The file that says what its rows took, if there is one.
    """

    path: Path
    first: int
    counts: tuple[int, ...]
    whole: bool = True
    timings: Path | None = None

    @property
    def end(self) -> int:
        """Place of the first text after its own."""
        return self.first + len(self.counts)

    def before(self, number: int) -> int:
        """Return how many of its rows are of texts before one."""
        return sum(self.counts[: number - self.first])


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive texts, and the parts that hold something of them."""

    texts: range
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, eq=False)
class StoredRows(Sequence[Row]):
    """The rows of one table, read some parts at a time, as often as they are asked for.

    Attributes:
        table: Its name.
        schema: Its columns.
        parts: Where the rows are.
        ranks: Which cells are asked for, in which order; without it all are, as they were written.
        run: What rows call their run; without it what each was written under.
    """

    table: str
    schema: pa.Schema
    parts: tuple[Part, ...] = ()
    ranks: Mapping[Cell, int] | None = None
    run: str | None = None

    def __len__(self) -> int:
        return sum(map(self._size, _stretches(self.parts)))

    def __iter__(self) -> Iterator[Row]:
        for _, rows in self.texts():
            yield from rows

    def texts(self, only: Container[int] | None = None) -> Iterator[tuple[int, list[Row]]]:
        """Yield the rows of each text with its place in the data; parts without one of `only` are not read."""
        opened: dict[Path, list[Row]] = {}
        for stretch in _stretches(self.parts):
            if only is None or any(number in only for number in stretch.texts):
                known, opened = opened, {}
                for part in stretch.parts:
                    opened[part.path] = known.get(part.path) or self._read(part)
                yield from self._merged(stretch, opened)

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
        for stretch in _stretches(self.parts):
            size = self._size(stretch)
            if place < size:
                return self._all(stretch)[place]
            place -= size
        raise IndexError(index)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # rows are mutable

    def _size(self, stretch: Stretch) -> int:
        """Return how many rows texts have; a part of which not all is asked for has to be read for that."""
        if all(part.whole for part in stretch.parts):
            first, end = stretch.texts.start, stretch.texts.stop
            return sum(part.before(end) - part.before(first) for part in stretch.parts)
        return len(self._all(stretch))

    def _all(self, stretch: Stretch) -> list[Row]:
        opened = {part.path: self._read(part) for part in stretch.parts}
        return [row for _, rows in self._merged(stretch, opened) for row in rows]

    def _merged(self, stretch: Stretch, opened: Mapping[Path, list[Row]]) -> Iterator[tuple[int, list[Row]]]:
        places = {part.path: part.before(stretch.texts.start) for part in stretch.parts}
        for number in stretch.texts:
            rows: list[Row] = []
            for part in stretch.parts:
                start = places[part.path]
                places[part.path] = end = start + part.counts[number - part.first]
                rows += opened[part.path][start:end]
            yield number, rows if self.ranks is None else in_order(self.table, rows, self.ranks)

    def _read(self, part: Part) -> list[Row]:
        rows: list[Row] = tables.read_table(part.path, self.schema, earlier=self.schema is tables.TEXTS).to_pylist()
        if len(rows) != sum(part.counts):
            raise InputError(
                f"'{part.path}' has {len(rows)} rows, and had {sum(part.counts)}; something else writes in the folder."
            )
        rows = [{**row, **own} for row, own in zip(rows, measured_in(part, rows), strict=True)]
        return rows if self.run is None else [{**row, "run": self.run} for row in rows]


def measured_in(part: Part, rows: Sequence[Row]) -> list[Row]:
    """Return what each row of a part took, from the file that has it; nan where that is lost."""
    if part.timings is None or not rows or rows[0].get("seconds", 0.0) is not None:
        return [{}] * len(rows)  # not a table with times, or one of a version that had them in itself
    known = tables.read(part.timings, tables.TIMINGS)
    if "number" in rows[0]:  # rows of texts
        kept = [{name: one[name] for name in ("rows_run", "seconds", "peak_megabytes")} for one in known]
        lost: Row = {"rows_run": 0, "seconds": math.nan}
    else:
        kept = [{"seconds": seconds} for one in known for seconds in one["explained"]]
        lost = {"seconds": math.nan}
    return kept if len(kept) == len(rows) else [lost] * len(rows)


def _stretches(parts: Sequence[Part]) -> list[Stretch]:
    """Divide the data where a part begins or ends."""
    coming = sorted(parts, key=lambda one: (one.first, one.path), reverse=True)
    edges = sorted({edge for part in parts for edge in (part.first, part.end)})
    found, there = [], list[Part]()
    for start, end in pairwise(edges):
        there = [part for part in there if part.end > start]
        while coming and coming[-1].first == start:
            there.append(coming.pop())
        if there:
            found.append(Stretch(range(start, end), tuple(there)))
    return found
