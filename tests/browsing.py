"""A server in a process of its own, and reviewers in a real browser, for tests."""

import atexit
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import workbench_app
from workbench_app import TEXTS

CHROMIUM = "/usr/bin/chromium"
REPORTING = "addEventListener('securitypolicyviolation', (one) => console.error('policy', one.blockedURI, one.sample))"
LOADED = "section.label.current ol.evidence, section.label.current p:has-text('none')"


class Server:
    """A server in a process of its own.

    Args:
        pid: The number of the process.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def kill(self) -> None:
        """End it without a word, and wait until it is gone."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
            while True:
                os.kill(self.pid, 0)
                time.sleep(0.01)


@cache
def _maker() -> subprocess.Popen[str]:
    """The process that makes servers: it has imported all that they need."""
    command = [sys.executable, str(Path(workbench_app.__file__).with_name("workbench_server.py"))]
    maker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
    atexit.register(maker.kill)
    return maker


@contextmanager
def served(
    folder: Path, texts: Sequence[str] = TEXTS, *, url: str | None = None, hostile: bool = False
) -> Iterator[tuple[str, Server]]:
    """A server in a process of its own; yields its address."""
    maker = _maker()
    assert maker.stdin is not None
    assert maker.stdout is not None
    asked = {"url": url or workbench_app.sqlite(folder), "texts": list(texts), "hostile": hostile}
    maker.stdin.write(json.dumps(asked) + "\n")
    maker.stdin.flush()
    pid, port = map(int, maker.stdout.readline().split())
    server = Server(pid)
    try:
        yield f"http://localhost:{port}", server
    finally:
        server.kill()


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
