"""README is short, every link of the documentation leads somewhere, and every public name has a page."""

import re
from pathlib import Path

import pytest
import written_pages
from command_pages import commands
from make_plots import steps
from written_pages import DOCS, ROOT, anchors, links, made, pages

import whylight as wl
from whylight import plot
from whylight.core.registry import METHODS, METRICS, OBJECTIVES, REMOVERS
from whylight.data.registry import CORPORA

README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURES = DOCS / "images" / "gallery"
GALLERY = (DOCS / "gallery.md").read_text(encoding="utf-8")
LARGEST = 100_000
"""Bytes of a picture."""


def broken(path: Path, text: str) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for link in links(text):
        file, _, place = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        known = target in pages() or target.is_file()
        if not known or (place and target in pages() and place not in anchors(pages()[target])):
            found.append(link)
    return found


def test_readme_has_seven_hundred_words_at_most_and_names_its_test_command() -> None:
    assert len(README.split()) <= 700
    assert "\nmake test " in README
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_every_relative_link_leads_somewhere() -> None:
    found = {str(path.relative_to(ROOT)): broken(path, text) for path, text in pages().items()}
    assert sum(len(list(links(text))) for text in pages().values()) > 300
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("link", ["gone.md", "start.md#gone", "images/gone.png", "reference/methods/gone.md"])
def test_a_link_that_leads_nowhere_would_be_found(link: str) -> None:
    assert broken(DOCS / "index.md", f"[here]({link})") == [link]


@pytest.mark.parametrize(
    ("folder", "names"),
    [
        ("python", set(wl.__all__)),
        ("methods", set(METHODS.names())),
        ("metrics", set(METRICS.names())),
        ("removers", set(REMOVERS.names())),
        ("objectives", set(OBJECTIVES.names())),
        ("corpora", set(CORPORA.names())),
        ("commands", set(commands())),
    ],
)
def test_every_name_has_a_page_that_its_list_leads_to(folder: str, names: set[str]) -> None:
    place = DOCS / "reference" / folder
    listed = made()[place / "index.md"]
    assert {path.stem for path in made() if path.parent == place} == {*names, "index"}
    assert set(re.findall(r"\]\((\w+)\.md\)", listed)) == names
    assert all(len(made()[place / f"{name}.md"]) > 60 for name in names)


def test_every_command_that_the_help_lists_has_a_page(cli: object) -> None:
    code, out, _ = cli("--help")  # type: ignore[operator]
    assert code == 0
    listed = set(re.findall(r"^[│ ]+([a-z]+) {2,}\S", out, re.MULTILINE))
    assert len(listed) > 10
    assert listed == set(commands())


def test_every_figure_is_in_the_gallery_with_the_line_that_makes_it() -> None:
    made_by = {picture: code.splitlines()[-1] for code, picture in steps(GALLERY) if picture}
    functions = set(plot.__all__) - {"alt_text"}
    assert set(made_by) == {f"images/gallery/plot_{name}.png" for name in functions}
    assert all(made_by[f"images/gallery/plot_{name}.png"].startswith(f"wl.plot.{name}(") for name in functions)


def test_every_picture_is_shown_has_words_and_is_small() -> None:
    shown = re.findall(r"^```\{image\} images/gallery/(\S+)\n:alt: (.+)$", GALLERY, re.MULTILINE)
    assert {name for name, _ in shown} == {path.name for path in PICTURES.iterdir()}
    assert all(len(words) > 20 for _, words in shown)
    assert all(path.stat().st_size <= LARGEST for path in PICTURES.iterdir())


def test_code_is_no_place_for_links() -> None:
    assert list(written_pages.links("```python\nx[0](a.md)\n```\n`[x](b.md)` [](c.md)")) == ["c.md"]
