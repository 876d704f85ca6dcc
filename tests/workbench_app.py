"""A workbench for tests: a rule as the model, a few documents, and a browser that is signed in."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

import whylight as wl
from whylight.core.text import Text
from whylight.data.dataset import Dataset, Record
from whylight.workbench.app import make_app
from whylight.workbench.bench import Bench, make_bench
from whylight.workbench.database import open_database

HOST = "localhost:8000"
XSS = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
TEXTS = ("a bad 😀 film, truly bad", "a fine film\r\nindeed", "<b onclick=x>fever</b> and cough", "שלום עולם bad")


def rule(texts: Sequence[str]) -> list[list[float]]:
    """Bad words speak for `bad`, fever for `fever`."""
    return [[min(0.95, 0.1 + 0.4 * text.count("bad")), 0.9 if "fever" in text else 0.1] for text in texts]


def documents(texts: Sequence[str] = TEXTS) -> Dataset:
    return Dataset("notes", "test", (), tuple(Record(f"note {i}", Text(text), ()) for i, text in enumerate(texts)))


def bench(url: str, *, texts: Sequence[str] = TEXTS, password: str | None = None, **options: Any) -> Bench:
    model = wl.load(rule, labels=["bad", "fever"], identity="rule-1", head="sigmoid")
    methods = options.pop("methods", ("occlusion", "lime[samples=20]"))
    return make_bench(open_database(url), model, documents(texts), methods=methods, password=password)


def hostile_bench(url: str, *, texts: Sequence[str]) -> Bench:
    """A workbench whose model, labels and documents have HTML for names."""

    def rule(texts: Sequence[str]) -> list[list[float]]:
        return [[0.9 if "img" in text else 0.1, 0.2] for text in texts]

    model = wl.load(rule, labels=[XSS, f"{XSS} 2"], identity=XSS, head="sigmoid")
    records = tuple(Record(f"{XSS}{i}", Text(text), ()) for i, text in enumerate(texts))
    data = Dataset(XSS, "test", (), records)
    return make_bench(open_database(url), model, data, methods=["occlusion", "random"], password=None)


def sqlite(folder: Path) -> str:
    return f"sqlite:///{folder / 'review.db'}"


class Browser:
    """Somebody at a page."""

    def __init__(self, client: TestClient, name: str = "Ada", password: str | None = None) -> None:
        self.client = client
        told = {"name": name} | ({} if password is None else {"password": password})
        answer = client.post("/api/sign-in", json=told)
        assert answer.status_code == 200, answer.text
        self.cookies = dict(answer.cookies)
        page = self.get("/", headers={"accept": "text/html"}).text
        self.token = page.split('name="whylight-token" content="')[1].split('"')[0]

    def get(self, path: str, **options: Any) -> Any:
        self.client.cookies.clear()
        self.client.cookies.update(self.cookies)
        return self.client.get(path, **options)

    def post(self, path: str, body: Any) -> Any:
        self.client.cookies.clear()
        self.client.cookies.update(self.cookies)
        return self.client.post(path, json=body, headers={"x-whylight-token": self.token})

    def act(self, number: int, kind: str, **given: Any) -> Any:
        """Do something with a document, in its newest state."""
        version = self.get(f"/api/documents/{number}").json()["review"]["version"]
        return self.post(f"/api/documents/{number}/events", {"version": version, "kind": kind, **given})


@contextmanager
def client(own: Bench) -> Iterator[TestClient]:
    with TestClient(make_app(own, hosts=[HOST]), base_url=f"http://{HOST}") as found:
        yield found


def waited(own: Bench) -> None:
    """Wait until all documents were looked at."""
    end = time.monotonic() + 30
    while own.job.progress.running and time.monotonic() < end:
        time.sleep(0.02)
    assert not own.job.progress.running


def span(text: str, words: str) -> dict[str, Any]:
    start = text.index(words)
    return {"part": 0, "start": start, "end": start + len(words), "text": words}
