"""Which guides use a plug-in, a command or a Python name."""

import re
from functools import cache
from pathlib import Path

DOCS = Path(__file__).parents[1]
GUIDES = ("start.md", "tutorials/*.md", "howto/*.md")
OPTIONS = {
    "method": r"--(?:method|against)",
    "metric": r"--metric",
    "remover": r"--(?:metric-)?remover",
    "objective": r"--(?:objective|search)",
    "corpus": r"--(?:data|dev)",
}
"""Options of the command line that name a plug-in of a kind."""


@cache
def guides() -> dict[str, str]:
    """Return the text of every guide, by its path."""
    paths = [path for pattern in GUIDES for path in sorted(DOCS.glob(pattern)) if path.stem != "index"]
    return {str(path.relative_to(DOCS)): path.read_text(encoding="utf-8") for path in paths}


def guides_with(name: str, *, kind: str) -> list[str]:
    """Return links to the guides that use a plug-in, from a page two folders down."""
    option = OPTIONS[kind]
    mark = ":" if kind == "corpus" else r"[\"'`\[@=:\s]|$"
    pattern = re.compile(rf"""{option} "?{name}(?:{mark})|["'`]{name}(?:["'`\[@]|:)""", re.MULTILINE)
    return _links(pattern)


def guides_calling(name: str) -> list[str]:
    """Return links to the guides that use a name of `whylight` in Python."""
    return _links(re.compile(rf"\bwl\.{name}\b"))


def guides_running(command: str) -> list[str]:
    """Return links to the guides that run a command."""
    return _links(re.compile(rf"^!?\s*whylight {command}\b|`whylight {command}\b", re.MULTILINE))


def _links(pattern: re.Pattern[str]) -> list[str]:
    return [f"[](../../{path})" for path, text in guides().items() if pattern.search(text)]
