"""What a model has already answered, shared by all methods and metrics of one case."""

from collections import OrderedDict
from typing import NamedTuple

from whylight.core.arrays import Floats

BYTES = 2**30
"""Memory for the answers of one case, by default."""


class Answer(NamedTuple):
    """What a model said of one input row.

    Attributes:
        values: Logits `[columns]`, or what a classifier makes logits of.
        seconds: The time that it took.
        columns: The columns that it is about; empty for all.
    """

    values: Floats
    seconds: float
    columns: tuple[int, ...] = ()


Cache = dict[bytes, Answer]
"""Answers by input row."""


class BoundedCache(OrderedDict[bytes, Answer]):
    """Answers by input row, of which those that were not used for longest are forgotten beyond a number of bytes.

    Whoever uses an answer puts it in again, which makes it the last to go.

    Args:
        limit: Bytes of answers that are kept.

    Attributes:
        rows_run: Answers that were ever put in; one that was forgotten and found out again counts again.
    """

    def __init__(self, limit: int = BYTES) -> None:
        super().__init__()
        self.limit = limit
        self.size = 0
        self.rows_run = 0

    def __setitem__(self, key: bytes, answer: Answer) -> None:
        known = self.get(key)
        self.rows_run += known is None
        self.size += answer.values.nbytes - (0 if known is None else known.values.nbytes)
        super().__setitem__(key, answer)
        self.move_to_end(key)
        while self.size > self.limit and len(self) > 1:
            _, oldest = self.popitem(last=False)
            self.size -= oldest.values.nbytes

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self.size = 0
