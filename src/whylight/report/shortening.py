"""Names that are too long, without their middle: labels of one kind begin alike and end differently."""

from rich.cells import cell_len

from whylight.core.printable import one_line

ELLIPSIS = "\u2026"


def shortened(text: str, widest: int) -> str:
    """Return a text on one line, without its middle where it is wider, in columns of a terminal."""
    line = one_line(text)
    kept = len(line)
    while cell_len(found := without_middle(line, kept)) > widest and kept:
        kept -= 1
    return found


def without_middle(line: str, kept: int) -> str:
    """Return the first and last of so many characters of a text, and an ellipsis between them."""
    if kept >= len(line):
        return line
    first, last = line[: -(-kept // 2)], line[len(line) - kept // 2 :]
    return f"{first.rstrip()}{ELLIPSIS}{last.lstrip()}"
