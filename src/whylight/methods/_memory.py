"""How much memory a method may use: what the user says, or what is free."""

import os
import re
from pathlib import Path

import torch

from whylight.core.errors import SettingError

_UNITS = {"KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
_MEMORY = Path("/proc/meminfo")


def in_bytes(text: str) -> int:
    """Read an amount of memory, e.g. `2GB` or `500 MB`."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]B)\s*", text.upper())
    if found is None:
        raise SettingError(f"the setting 'memory' takes an amount such as 500MB or 2GB, not '{text}'.")
    return int(float(found[1]) * _UNITS[found[2]])


def free_bytes(device: torch.device) -> int | None:
    """Return the memory that is free where tensors of a device live, or None if the system does not say."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    if _MEMORY.exists():
        available = re.search(r"MemAvailable:\s*(\d+) kB", _MEMORY.read_text())
        if available is not None:
            return int(available[1]) * 2**10
    if "SC_AVPHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def told(amount: int) -> str:
    """Write an amount of memory as a user would."""
    return f"{amount / 2**30:.1f}GB" if amount >= 2**30 else f"{max(1, amount // 2**20)}MB"
