"""Which checks a broken plug-in fails, and a way for it to be broken in one of them alone."""

import inspect
from collections.abc import Iterable

from whylight.testing.running import Named, failure


def failing(checks: Iterable[Named]) -> set[str]:
    """Return the names of the checks that fail."""
    return {title for title, check in checks if failure(check) is not None}


def inside(title: str) -> bool:
    """Say whether a check, or what it shares with others, is on the way to where this is called."""
    return any(frame.function == title for frame in inspect.stack(0))
