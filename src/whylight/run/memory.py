"""The most memory that this process has had."""

import sys


def peak_megabytes() -> float | None:
    """Return the high-water mark of resident memory, or None where the system does not tell."""
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415  does not exist there

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024**2 if sys.platform == "darwin" else 1024)
