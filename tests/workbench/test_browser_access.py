"""Everybody can use it: axe finds nothing wrong on any page, in light and dark, wide and narrow."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing import Reviewer, served

pytestmark = pytest.mark.browser
AXE = Path(sys.prefix, "node", "node_modules", "axe-core", "axe.min.js")
SAME = tuple(f"note {i}: a bad, bad fever curve" for i in range(6))
SCREENS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}},
    "dark phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}


@pytest.fixture(scope="module")
def address(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A workbench where two have reviewed, disagreed and corrected the same words again and again."""
    with served(tmp_path_factory.mktemp("axe"), SAME) as (found, _):
        for name, key in (("Ada", "a"), ("Bob", "r")):
            one = Reviewer(chromium, found, name)
            for number in (1, 2, 3):
                page = one.open(number)
                page.keyboard.press("}")
                page.keyboard.press(key)
                one.saved(version=2, number=number)
            page.keyboard.press("d")
            page.keyboard.press("d")
            page.wait_for_url("**/documents/4*")
            one.context.close()
        yield found


@pytest.mark.parametrize("screen", SCREENS)
def test_axe_finds_nothing_wrong(chromium: Any, address: str, screen: str) -> None:
    ada = Reviewer(chromium, address, **SCREENS[screen])
    page, found = ada.page, {}

    def look(what: str) -> None:
        page.wait_for_load_state("networkidle")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        told = page.evaluate("axe.run()")
        assert len(told["passes"]) > 5, what
        found[what] = [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in told["violations"]]

    look("queue")
    for path in ("/?show=done", "/?show=all&find=nothing", "/agreement", "/history", "/export", "/suggestions", "/x"):
        page.goto(address + path)
        look(path)
    page.goto(f"{address}/documents/3/adjudicate")
    look("adjudicate")
    page.goto(f"{address}/playground")
    look("playground")
    page.fill("#typed", "a bad fever")
    page.click("button[type=submit]")
    page.wait_for_selector("#answer:not([hidden])")
    look("answer")
    ada.open(4)
    page.keyboard.press("w")
    page.wait_for_selector("text=becomes")
    look("document")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    look("keys")
    page.keyboard.press("Escape")
    page.click("#sign-out")
    page.wait_for_selector("#name")
    look("sign in")
    assert {what: wrong for what, wrong in found.items() if wrong} == {}
    assert len(found) == 14
