"""The documentation as files: written by hand, and made from registries."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from command_pages import command_pages
from name_pages import name_pages
from plugin_pages import plugin_pages

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
AT_THE_ROOT = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
_FENCE = re.compile(r"^(```|:::).*?^\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)|^```\{image\} (\S+)", re.MULTILINE)
_HEADING = re.compile(r"^#{1,4} (.+)$", re.MULTILINE)
_NAME = re.compile(r"^\(([\w-]+)\)=$", re.MULTILINE)


@cache
def made() -> dict[Path, str]:
    """Return the pages of the reference that every build makes, by the path that they get."""
    pages = plugin_pages() | command_pages() | name_pages()
    return {DOCS / "reference" / name: text for name, text in pages.items()}


@cache
def pages() -> dict[Path, str]:
    """Return all pages."""
    by_hand = [ROOT / name for name in AT_THE_ROOT] + [path for path in DOCS.rglob("*.md") if path not in made()]
    return {path: path.read_text(encoding="utf-8") for path in by_hand} | made()


def links(text: str) -> Iterator[str]:
    """Yield the relative links of a page, pictures among them."""
    prose = _CODE.sub("", _FENCE.sub(lambda block: block[0].split("\n", 1)[0], text))
    for match in _LINK.finditer(prose):
        target = match[1] or match[2]
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(text: str) -> set[str]:
    """Return what a link to a place in a page may name."""
    titles = (re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in _HEADING.findall(text))
    return {*titles, *_NAME.findall(text)}
