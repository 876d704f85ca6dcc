"""Figures of a study: one value per text in each cell of a table, its mean and interval, and paired differences.

Values are kept text by text, so that two cells are compared by the differences of the texts that both have. The rule of
`run/compare.py` says which differences are clear; of several that are asked for together, tests are corrected for their
number (Holm 1979), so that 20 of them do not find one by chance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whylight.core import showing
from whylight.core.arrays import Floats
from whylight.run.compare import clear_sign, holm, permutation_tests
from whylight.run.summary import Cell, interval
from whylight.store.tables import Row

Place = tuple[str, str]
"""A row and a column."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A paired difference of two cells.

    Attributes:
        cell: Its mean and interval.
        sign: 1 or -1 where it is clear, 0 where nobody can tell.
    """

    cell: Cell
    sign: int


@dataclass(frozen=True, slots=True, eq=False)
class FigureTable:
    """A table of means over texts.

    Attributes:
        values: By row and column: a value per text, in the order of the texts, nan where there is none, `[texts]`.
        texts: How many texts were looked at.
        notes: What a reader of the numbers has to know.
    """

    values: Mapping[Place, Floats]
    texts: int
    notes: tuple[str, ...] = ()

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows, in order."""
        return tuple(dict.fromkeys(row for row, _ in self.values))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(dict.fromkeys(column for _, column in self.values))

    def cell(self, row: str, column: str) -> Cell | None:
        """Return the mean over texts and its 95 % bootstrap interval; None where no text has a value."""
        own = self.values.get((row, column), np.empty(0))
        own = own[np.isfinite(own)]
        return interval(own) if len(own) else None

    def difference(self, first: Place, second: Place) -> Difference | None:
        """Return first minus second, over the texts that have both; None where none has."""
        return self.differences([(first, second)])[0]

    def differences(self, pairs: Sequence[tuple[Place, Place]]) -> list[Difference | None]:
        """Return the difference of each pair, with tests corrected for their number."""
        values = [self._paired(*pair) for pair in pairs]
        p_values = iter(holm(permutation_tests([own for own in values if len(own)])))
        cells = [interval(own) if len(own) else None for own in values]
        return [None if cell is None else Difference(cell, clear_sign(cell, next(p_values))) for cell in cells]

    def _paired(self, first: Place, second: Place) -> Floats:
        """Return first minus second, of the texts that have both."""
        if first not in self.values or second not in self.values:
            return np.empty(0)
        own = self.values[first] - self.values[second]
        return own[np.isfinite(own)]

    def records(self) -> list[Row]:
        """Return one flat record for each cell that has a value."""
        cells = {place: self.cell(*place) for place in self.values}
        return [
            {"row": row, "column": column, "mean": one.mean, "low": one.low, "high": one.high, "texts": one.texts}
            for (row, column), one in cells.items()
            if one is not None
        ]


def finite_mean(values: Floats | Sequence[float]) -> float:
    """Return the mean of the values that there are; nan where there is none."""
    own = np.asarray(values, dtype=np.float64)
    own = own[np.isfinite(own)]
    return float(own.mean()) if len(own) else float("nan")
