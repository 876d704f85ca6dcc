"""Training in several processes (`torchrun`): what each of them must know of the others.

Every process holds the whole model and reads its part of each batch. Terms run the bare model as often as they like and
differentiate twice, which the wrapper for several processes does not allow; so gradients are averaged here, once an
update. Figures that decide something are the same everywhere: means and gathered answers, never a process's own.
"""

import os
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from whylight.core.errors import SettingError


def count() -> int:
    """Return how many processes train together."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Say whether this is the process that writes and prints."""
    return os.environ.get("RANK", "0") == "0"


def parts_of(batch: int, micro: int | None) -> tuple[int, int]:
    """Cut a batch among processes: texts that one of them reads at once, and how often before an update.

    Args:
        batch: Texts in an update.
        micro: Texts that one process reads at once, if a whole share does not fit.
    """
    share, left = divmod(batch, count())
    if left:
        raise SettingError(f"a batch of {batch} texts cannot be cut among {count()} processes.")
    own = share if micro is None else micro
    if share % own:
        raise SettingError(f"a batch of {batch} cannot be cut into parts of {own} texts in {count()} processes.")
    return own, share // own


def average_gradients(parameters: Iterable[nn.Parameter], accelerator: Any) -> None:  # noqa: ANN401  accelerate's own
    """Put the mean over processes in the place of each gradient; one that a process lacks counts as 0."""
    for parameter in parameters:
        if parameter.requires_grad:
            own = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            parameter.grad = accelerator.reduce(own, reduction="mean")


def mean(value: float, accelerator: Any) -> float:  # noqa: ANN401  accelerate's own
    """Return the mean of a number over processes."""
    if accelerator.num_processes == 1:
        return value
    own = torch.tensor(value, dtype=torch.float32, device=accelerator.device)
    return float(accelerator.reduce(own, reduction="mean"))


def gathered(values: Tensor, accelerator: Any) -> Tensor:  # noqa: ANN401  accelerate's own
    """Return the rows of all processes, without those that fill up the last batch."""
    if accelerator.num_processes == 1:
        return values
    every: Tensor = accelerator.gather_for_metrics(values)
    return every
