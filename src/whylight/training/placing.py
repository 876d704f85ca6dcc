"""Where trainings run: on an accelerator if there is one, unless somebody says otherwise.

Where a training runs is no part of what is asked, so that it may be continued elsewhere.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

from whylight.core.errors import SettingError
from whylight.models.devices import AUTO, CPU, chosen_device

_on_cpu: ContextVar[bool] = ContextVar("on_cpu", default=False)


@contextmanager
def placed(device: str | None) -> Iterator[None]:
    """Run trainings inside the block on a device.

    Args:
        device: A kind of device, e.g. `"cuda"` or `"cpu"`; `"auto"` or None for an accelerator if there is one.
    """
    on_cpu = False
    if device not in (None, AUTO):
        chosen = chosen_device(device)
        if chosen.index is not None:
            raise SettingError(
                f"a training takes a kind of device, not '{device}': say --device {chosen.type}, and which one by the "
                "environment, e.g. CUDA_VISIBLE_DEVICES=1."
            )
        on_cpu = chosen.type == CPU
    token = _on_cpu.set(on_cpu)
    try:
        yield
    finally:
        _on_cpu.reset(token)


def uses_cpu() -> bool:
    """Say whether trainings run on the CPU here."""
    return _on_cpu.get() or not torch.accelerator.is_available()
