"""How much memory a method may use: what the user says, or what is free."""

import torch

from whylight.core import memory
from whylight.core.memory import in_bytes, told

__all__ = ["free_bytes", "in_bytes", "told"]


def free_bytes(device: torch.device) -> int | None:
    """Return the memory that is free where tensors of a device live, or None if the system does not say."""
    return int(torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else memory.free_bytes()
