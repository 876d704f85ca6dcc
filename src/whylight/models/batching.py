"""The engine: every forward pass of a perturbation method or metric goes through here.

Distinct rows only, longest first, batched by a budget of tokens, no padding beyond the longest row of a batch, answers
shared by all who ask during one case. The floor is the model's own batched throughput on the distinct rows.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np
import torch

from whylight.core import progress
from whylight.core.arrays import Floats, Ints
from whylight.core.encoded import Rows
from whylight.views.classifier import Answer, Cache
from whylight.views.meter import Meter

CPU_TOKEN_BUDGET = 768
"""Tokens a batch on a CPU: above this, activations leave the cache and throughput falls."""
DEVICE_TOKEN_BUDGET = 32768


class Engine:
    """Runs rows through a model.

    Args:
        forward: Rows of one batch -> logits `[rows, labels]`.
        token_budget: Tokens that a batch may hold, padding included.
        pad: Whether rows of different lengths may share a batch.
    """

    def __init__(self, forward: Callable[[Rows], Floats], *, token_budget: int, pad: bool = True) -> None:
        self._forward = forward
        self.token_budget = token_budget
        self.pad = pad

    def logits(self, rows: Rows, *, cache: Cache, meter: Meter) -> Floats:
        """Return the logits `[rows, labels]` of rows, each distinct one computed once."""
        keys = rows.keys()
        meter.ask(keys, lambda key: cache[key].seconds if key in cache else None)
        fresh = {key: i for i, key in enumerate(keys) if key not in cache}
        if fresh:
            self._run(rows, fresh, cache)
        return np.stack([cache[key].logits for key in keys])

    def _run(self, rows: Rows, fresh: dict[bytes, int], cache: Cache) -> None:
        names, indices = list(fresh), np.fromiter(fresh.values(), dtype=np.int64)
        progress.expect(len(names))
        for chosen in self._batches(rows.lengths[indices]):
            started = time.perf_counter()
            answers = self._forward_fitting(rows.take(indices[chosen]))
            each = (time.perf_counter() - started) / len(chosen)
            cache.update({names[i]: Answer(logits, each) for i, logits in zip(chosen, answers, strict=True)})
            progress.advance(len(chosen))

    def _batches(self, lengths: Ints) -> Iterator[Ints]:
        order = np.argsort(-lengths, kind="stable")
        while len(order):
            size = max(1, self.token_budget // int(lengths[order[0]]))
            if not self.pad:
                size = min(size, int((lengths[order] == lengths[order[0]]).sum()))
            yield order[:size]
            order = order[size:]

    def _forward_fitting(self, rows: Rows) -> Floats:
        """Run a batch, in halves where it does not fit into memory."""
        try:
            return self._forward(rows)
        except RuntimeError as error:
            if len(rows) == 1 or not _out_of_memory(error):
                raise
        self.token_budget = max(1, self.token_budget // 2)
        middle = len(rows) // 2
        halves = (rows.take(range(middle)), rows.take(range(middle, len(rows))))
        return np.concatenate([self._forward_fitting(half) for half in halves])


def default_token_budget(device: torch.device) -> int:
    """Return how many tokens a batch should hold on a device."""
    return CPU_TOKEN_BUDGET if device.type == "cpu" else DEVICE_TOKEN_BUDGET


def _out_of_memory(error: RuntimeError) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or "not enough memory" in str(error)
