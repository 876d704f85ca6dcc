"""A server in a process of its own, and reviewers in a real browser, for tests."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import workbench_app
from workbench_app import TEXTS

CHROMIUM = "/usr/bin/chromium"
REPORTING = "addEventListener('securitypolicyviolation', (one) => console.error('policy', one.blockedURI, one.sample))"
LOADED = "section.label.current ol.evidence, section.label.current p:has-text('none')"


@contextmanager
def served(
    folder: Path, texts: Sequence[str] = TEXTS, *, url: str | None = None, hostile: bool = False
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server in a process of its own; yields its address."""
    file = folder / "texts.json"
    file.write_text(json.dumps(list(texts)), encoding="utf-8")
    command = [sys.executable, str(Path(workbench_app.__file__).with_name("workbench_server.py"))]
    own = [*command, url or workbench_app.sqlite(folder), str(file), "0", *(["hostile"] if hostile else [])]
    process = subprocess.Popen(own, stdout=subprocess.PIPE, text=True, env={**os.environ})  # noqa: S603
    assert process.stdout is not None
    number = process.stdout.readline().strip()
    try:
        yield f"http://localhost:{number}", process
    finally:
        process.kill()
        process.wait()


class Reviewer:
    """Somebody at a browser; what the browser complains of is kept."""

    def __init__(self, chromium: Any, address: str, name: str = "Ada", **options: Any) -> None:
        self.context = chromium.new_context(**{"viewport": {"width": 1400, "height": 900}, **options})
        self.context.add_init_script(REPORTING)
        self.page, self.address, self.wrong = self.context.new_page(), address, []
        self.page.on("console", lambda one: self.wrong.append(one.text) if one.type == "error" else None)
        self.page.on("pageerror", lambda one: self.wrong.append(str(one)))
        self.page.on("dialog", lambda one: (self.wrong.append(one.message), one.dismiss()))
        self.page.goto(address)
        self.page.fill("#name", name)
        self.page.click("text=Start")
        self.page.wait_for_selector("h1:has-text('Queue')")

    def open(self, number: int, query: str = "?sort=order") -> Any:
        """Open a document, and wait until its evidence is there."""
        self.page.goto(f"{self.address}/documents/{number}{query}")
        self.page.wait_for_selector(LOADED)
        return self.page

    def state(self, number: int = 1) -> dict[str, Any]:
        """This reviewer's review of a document, as the server has it."""
        asked = f"fetch('/api/documents/{number}').then((one) => one.json())"
        found: dict[str, Any] = self.page.evaluate(asked)["review"]
        return found

    def saved(self, *, version: int, number: int = 1) -> dict[str, Any]:
        """The review of a document once it has so many events."""
        end = time.monotonic() + 20
        while (found := self.state(number))["version"] < version and time.monotonic() < end:
            time.sleep(0.05)
        assert found["version"] == version
        return found


def select(page: Any, start: int, end: int) -> Any:
    """Select UTF-16 units of the first part of a document."""
    return page.evaluate(
        """([start, end]) => {
          const node = document.querySelector('#text .part').firstChild;
          getSelection().setBaseAndExtent(node, start, node, end);
        }""",
        [start, end],
    )


def units(text: str) -> int:
    """How long a text is for a browser."""
    return len(text.encode("utf-16-le")) // 2
