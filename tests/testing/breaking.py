"""Which checks a broken plug-in fails, and a way for it to be broken in one of them alone."""

import sys
from collections.abc import Iterable

from whylight.testing.running import Named, failure


def failing(checks: Iterable[Named]) -> set[str]:
    """Return the names of the checks that fail."""
    return {title for title, check in checks if failure(check) is not None}


def inside(title: str) -> bool:
    """Say whether a check, or what it shares with others, is on the way to where this is called."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != title:
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None
