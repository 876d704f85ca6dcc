"""Peak memory of a piece of work, above what the process held before it; each measured in a process of its own."""

import ctypes
import gc
import subprocess
import sys
from pathlib import Path

from clock import Work

MEGABYTE = 2**20
_STATUS, _REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_megabytes(work: Work) -> float:
    """Return by how much the resident memory rises at most while work is done (Linux)."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # freed memory that the allocator holds would hide a rise
    _REFERENCES.write_text("5")  # forget the highest value so far
    before = _kilobytes("VmRSS")
    work()
    return (_kilobytes("VmHWM") - before) * 1024 / MEGABYTE


def in_fresh_process(module: str, *arguments: object) -> float:
    """Run a file of this folder, which prints megabytes, and return them: what earlier work left behind is not there.

    Args:
        module: The name of the file, without its ending.
        *arguments: What it is told.
    """
    file = Path(__file__).with_name(f"{module}.py")
    command = [sys.executable, str(file), *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  our own file
    return float(done.stdout.split()[-1])


def _kilobytes(name: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1])
