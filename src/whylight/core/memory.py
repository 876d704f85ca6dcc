"""Amounts of memory: read from a user, told to one, and what the system has and the process takes."""

import os
import re
import sys
from pathlib import Path

from whylight.core.errors import SettingError

_UNITS = {"KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
_SYSTEM = Path("/proc/meminfo")
_PROCESS = Path("/proc/self/statm")
_STATUS = Path("/proc/self/status")


def in_bytes(text: str, *, name: str = "memory") -> int:
    """Read an amount of memory, e.g. `2GB` or `500 MB`; `name` is what the user calls it."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]B)\s*", str(text).upper())
    if found is None or not float(found[1]):
        raise SettingError(f"the setting '{name}' takes an amount such as 500MB or 2GB, not '{text}'.")
    return int(float(found[1]) * _UNITS[found[2]])


def free_bytes() -> int | None:
    """Return the memory that is free, or None if the system does not say."""
    if _SYSTEM.exists():
        available = re.search(r"MemAvailable:\s*(\d+) kB", _SYSTEM.read_text())
        if available is not None:
            return int(available[1]) * 2**10
    if "SC_AVPHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def resident_bytes() -> int:
    """Return the memory that this process takes, or 0 if the system does not say."""
    try:
        return int(_PROCESS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def peak_megabytes() -> float | None:
    """Return the most memory that this process has had, or None if the system does not say.

    Where Linux says it of the program that runs, that is taken: what it says of the process begins with what the
    program took that started it.
    """
    if sys.platform == "win32":
        return None
    found = re.search(rb"VmHWM:\s*(\d+) kB", _STATUS.read_bytes()) if _STATUS.exists() else None
    if found is not None:
        return int(found[1]) / 1024
    import resource  # noqa: PLC0415  does not exist there

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024**2 if sys.platform == "darwin" else 1024)


def told(amount: int) -> str:
    """Write an amount of memory as a user would."""
    return f"{amount / 2**30:.1f}GB" if amount >= 2**30 else f"{max(1, amount // 2**20)}MB"
