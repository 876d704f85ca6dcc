"""Names that are too long, without their middle: labels of one kind begin alike and end differently."""

from bisect import bisect_right
from collections.abc import Callable, Sequence

from rich.cells import cell_len

from whylight.core.printable import one_line
from whylight.core.segment import symbols

ELLIPSIS = "\u2026"


def shortened(text: str, widest: int) -> str:
    """Return a text on one line, without its middle where it is wider, in columns of a terminal."""
    return fitted(text, widest, wide=cell_len)


def fitted(text: str, room: float, *, wide: Callable[[str], float]) -> str:
    """Return a text on one line, without as much of its middle as has to go for it to fit.

    Args:
        text: The text.
        room: How wide it may be.
        wide: How wide a text is; one that is longer is no narrower.
    """
    line = symbols(one_line(text))
    if wide("".join(line)) <= room:
        return "".join(line)
    fitting = bisect_right(range(len(line)), room, key=lambda kept: wide(_without_middle(line, kept)))
    return _without_middle(line, max(0, fitting - 1))


def _without_middle(line: Sequence[str], kept: int) -> str:
    """Return the first and last of so many signs of a text, fewer than it has, and an ellipsis between them."""
    first, last = "".join(line[: -(-kept // 2)]), "".join(line[len(line) - kept // 2 :])
    return f"{first.rstrip()}{ELLIPSIS}{last.lstrip()}"
