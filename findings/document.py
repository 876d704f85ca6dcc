"""Putting tables into docs/findings.md: each stands between two marks, and a script replaces what is between them.

A table that the document has no place for yet is kept beside the runs, to be read before a section is written.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "findings.md"
WORK = Path(__file__).resolve().parent.parent / "build" / "findings"
"""Where models and runs are kept, so that a stopped script goes on."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def spread(values: Sequence[float]) -> str:
    """Write mean and standard deviation over seeds."""
    deviation = f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
    return f"{np.mean(values):.3f}{deviation}"


def put(name: str, text: str) -> None:
    """Replace the text between the marks of a section."""
    first, last = f"<!-- {name} -->", f"<!-- /{name} -->"
    document = DOCUMENT.read_text(encoding="utf-8")
    print(text)
    if first not in document or last not in document:
        (WORK / f"{name}.md").write_text(text + "\n", encoding="utf-8")
        return
    before, rest = document.split(first, 1)
    after = rest.split(last, 1)[1]
    DOCUMENT.write_text(f"{before}{first}\n{text}\n{last}{after}", encoding="utf-8")
