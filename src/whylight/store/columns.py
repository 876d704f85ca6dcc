"""The columns of a run: what can be known of a text, by method and measure.

A measure is a table and what stands in it: an explanation, the value of a metric under a remover, or a curve under one.
A cell is a method and a measure of it. A run is asked for every measure of every method; what a commit holds of a text
is said in cells, so that a run can be asked for more later, and only what is missing is made.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, starmap
from typing import Any

from whylight.store.tables import Row

Measure = tuple[str, str | None, str | None]
"""A table, and the metric and the remover that its rows are of."""
Cell = tuple[str, Measure]
"""A method and a measure."""
Cells = frozenset[Cell]
EXPLAINED: Measure = ("explanations", None, None)
NOTHING: Cells = frozenset()
PAIR = 2
"""Lists in a list of methods and measures."""
_TABLES = {"explanations": "explanations", "tuning": "explanations", "scores": "scores", "curves": "curves"}
"""Which measures the rows of a table are of: tuning texts are explained as others are."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Methods and measures in the order of tables; every measure of every method is meant.

    Attributes:
        methods: What tables call methods, baselines and controls among them.
        measures: What is known of each.
    """

    methods: tuple[str, ...]
    measures: tuple[Measure, ...]

    @property
    def cells(self) -> Cells:
        """Every cell, in no order."""
        return frozenset(self.ranks())

    def ranks(self, only: Cells | None = None) -> dict[Cell, int]:
        """Return the places of cells in the order of tables, of some of them or of all."""
        every = ((method, measure) for method in self.methods for measure in self.measures)
        return {cell: place for place, cell in enumerate(every) if only is None or cell in only}

    def after(self, others: "Columns") -> "Columns":
        """Return these, and before them those of others that are not among them."""
        methods = [one for one in others.methods if one not in self.methods]
        measures = [one for one in others.measures if one not in self.measures]
        return Columns((*methods, *self.methods), (*measures, *self.measures))

    def to_json(self) -> dict[str, Any]:
        """Return them as a JSON object."""
        return {"methods": list(self.methods), "measures": [list(one) for one in self.measures]}

    @classmethod
    def from_json(cls, given: Any) -> "Columns":  # noqa: ANN401  whatever a file holds
        """Read what `to_json` made.

        Raises:
            ValueError: It is something else.
        """
        if not isinstance(given, Mapping):
            raise ValueError("no columns")  # noqa: TRY004  as all that is wrong with a file
        return cls(*_checked(given.get("methods"), given.get("measures")))


def cell_of(table: str, row: Row) -> Cell:
    """Return the cell that a row of a table belongs to."""
    kind = _TABLES[table]
    remover = None if kind == "explanations" else row["remover"]  # what a method removes by is its own affair
    return row["method"], (kind, row.get("metric"), remover)


def of_table(table: str, cells: Cells) -> set[Cell]:
    """Return the cells that rows of a table belong to."""
    return {cell for cell in cells if cell[1][0] == _TABLES[table]}


def in_order(table: str, rows: Sequence[Row], ranks: Mapping[Cell, int]) -> list[Row]:
    """Return the rows of one text whose cells have a rank, in that order; rows of one cell stay as they stand."""
    ranked = [(ranks.get(cell_of(table, row)), row) for row in rows]
    kept = [(rank, row) for rank, row in ranked if rank is not None]
    return [row for _, row in sorted(kept, key=lambda one: one[0])]


@lru_cache(maxsize=1024)
def joined(one: Cells, other: Cells) -> Cells:
    """Return the cells of both; the same object for the same ones, since there are as many as texts."""
    return one | other


@lru_cache(maxsize=1024)
def written(cells: Cells) -> str:
    """Return cells as JSON: pairs of methods and of measures that each of these has."""
    measures: dict[str, set[Measure]] = defaultdict(set)
    for method, measure in cells:
        measures[method].add(measure)
    methods: dict[tuple[Measure, ...], list[str]] = defaultdict(list)
    for method, own in sorted(measures.items()):
        methods[tuple(sorted(own, key=lambda one: tuple(part or "" for part in one)))].append(method)
    return json.dumps([[own, [list(one) for one in each]] for each, own in methods.items()], ensure_ascii=False)


@lru_cache(maxsize=1024)
def read(text: str) -> Cells:
    """Read what `written` made.

    Raises:
        ValueError: It is something else.
    """
    pairs = json.loads(text)
    if not isinstance(pairs, list) or not all(isinstance(one, list) and len(one) == PAIR for one in pairs):
        raise ValueError("no cells")
    each = starmap(_checked, pairs)
    return frozenset((method, one) for methods, measures in each for method in methods for one in measures)


def _checked(methods: Any, measures: Any) -> tuple[tuple[str, ...], tuple[Measure, ...]]:  # noqa: ANN401
    """Return methods and measures that a file names."""
    listed = isinstance(methods, list) and isinstance(measures, list)
    if not listed or not all(isinstance(one, list) and len(one) == len(EXPLAINED) for one in measures):
        raise ValueError("no cells")
    if not all(isinstance(part, str | None) for part in chain(methods, *measures)):
        raise ValueError("no names")
    return tuple(methods), tuple((table, metric, remover) for table, metric, remover in measures)
