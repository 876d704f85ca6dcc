"""The engine: every forward pass of a perturbation method or metric goes through here.

Distinct rows only, longest first, batched by a budget (of tokens, or of what else rows are made of), no padding beyond
the longest row of a batch, answers shared by all who ask during one case. The floor is the model's own batched
throughput on the distinct rows.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import torch

from whylight.core import progress
from whylight.core.arrays import Floats, Ints
from whylight.views.batch import Batch
from whylight.views.cache import Answer, Cache
from whylight.views.meter import Meter

CPU_TOKEN_BUDGET = 768
"""Tokens a batch on a CPU: above this, activations leave the cache and throughput falls."""
DEVICE_TOKEN_BUDGET = 32768
FAR_LESS, WORTH_A_BATCH = 0.75, 192
"""Of the cost of the dearest row; and what a batch must take for another one to be worth its overhead."""

Company = Literal["any", "alike", "none"]
"""Which rows have the same answer together as alone: any, those of one length (padding is not masked), or none."""
Forward = Callable[[Any], Floats]
"""One batch, of the kind that the model reads -> what it says of each row, `[rows, ...]`."""


class Engine:
    """Runs rows through a model.

    Args:
        forward: Gives the logits `[rows, labels]` of one batch.
        budget: Tokens that a batch may hold, padding included; or characters, or pixels.
        company: Says which rows may share a batch; asked when there are several. Any may, if left out.
        most: Rows that a batch may hold, however short they are.
        costs: What each row takes of the budget, where that is not its length. Rows of a batch take as much as the
            dearest of them: one that would take far less goes into the next batch.
    """

    def __init__(
        self,
        forward: Forward,
        *,
        budget: int,
        company: Callable[[], Company] | None = None,
        most: int | None = None,
        costs: Callable[[Any], Ints] | None = None,
    ) -> None:
        self._forward = forward
        self.budget = budget
        self._company = company
        self._most = most
        self._costs = costs

    def logits(self, rows: Batch, *, cache: Cache, meter: Meter) -> Floats:
        """Return the logits `[rows, labels]` of rows, each distinct one computed once."""
        keys = rows.keys()
        answers = self.answers(rows, keys, known=cache.get, meter=meter)
        cache.update(answers)
        return np.stack([answers[key].values for key in keys])

    def answers(
        self,
        rows: Batch,
        keys: Sequence[bytes],
        *,
        known: Callable[[bytes], Answer | None],
        meter: Meter,
        forward: Forward | None = None,
    ) -> dict[bytes, Answer]:
        """Return the answer to each distinct row.

        Args:
            rows: The rows.
            keys: What makes each row distinct.
            known: Gives the answer to a row where there is one already.
            meter: Where rows are counted.
            forward: What to run instead of the engine's own function.
        """
        found = {key: answer for key in dict.fromkeys(keys) if (answer := known(key)) is not None}
        meter.ask(keys, lambda key: found[key].seconds if key in found else None)
        fresh = {key: i for i, key in enumerate(keys) if key not in found}
        if fresh:
            found.update(self._run(rows, fresh, forward or self._forward))
        return found

    def _run(self, rows: Batch, fresh: dict[bytes, int], forward: Forward) -> dict[bytes, Answer]:
        names, indices = list(fresh), np.fromiter(fresh.values(), dtype=np.int64)
        found: dict[bytes, Answer] = {}
        progress.expect(len(names))
        costs = rows.lengths if self._costs is None else self._costs(rows)
        for chosen in self._batches(costs[indices], rows.lengths[indices]):
            started = time.perf_counter()
            answers = self._forward_fitting(rows.take(indices[chosen]), forward)
            each = (time.perf_counter() - started) / len(chosen)
            found.update({names[i]: Answer(values, each) for i, values in zip(chosen, answers, strict=True)})
            progress.advance(len(chosen))
        return found

    def _batches(self, costs: Ints, lengths: Ints) -> Iterator[Ints]:
        order = np.argsort(-costs, kind="stable")
        while len(order):
            size = min(self._most or len(order), max(1, self.budget // max(1, int(costs[order[0]]))))
            company = "any" if self._company is None or min(size, len(order)) == 1 else self._company()
            if self._costs is not None:
                size = max(1, min(size, _alike_in_cost(costs[order])))
            if company != "any":
                size = 1 if company == "none" else min(size, int((lengths[order] == lengths[order[0]]).sum()))
            yield order[:size]
            order = order[size:]

    def _forward_fitting(self, rows: Batch, forward: Forward) -> Floats:
        """Run a batch, in halves where it does not fit into memory."""
        try:
            return forward(rows)
        except RuntimeError as error:
            if len(rows) == 1 or not out_of_memory(error):
                raise
        self.budget = max(1, self.budget // 2)
        middle = len(rows) // 2
        halves = (rows.take(range(middle)), rows.take(range(middle, len(rows))))
        return np.concatenate([self._forward_fitting(half, forward) for half in halves])


def _alike_in_cost(costs: Ints) -> int:
    """Return how many rows, dearest first, should share a batch."""
    dear = costs >= FAR_LESS * costs[0]
    return max(int(dear.sum()), -(-WORTH_A_BATCH // max(1, int(costs[0]))))


def default_token_budget(device: torch.device) -> int:
    """Return how many tokens a batch should hold on a device."""
    return CPU_TOKEN_BUDGET if device.type == "cpu" else DEVICE_TOKEN_BUDGET


def out_of_memory(error: BaseException) -> bool:
    """Say whether an error is about memory, and so about the size of a batch and not about what is in it."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "not enough memory" in str(error)
