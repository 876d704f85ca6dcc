"""Many requests: made up by schemathesis, by many readers at once, and by hundreds who only listen."""

import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from starlette.responses import HTMLResponse

import workbench_app
from whylight.core.text import Text
from whylight.data.dataset import Dataset, Record
from whylight.workbench.app import make_app
from whylight.workbench.bench import Bench
from whylight.workbench.findings import Standing
from whylight.workbench.listening import opened
from whylight.workbench.queue import Asked, queue_page
from whylight.workbench.routes import pages
from whylight.workbench.routes.progress import MOST_READERS
from workbench_app import HOST, Browser, client

pytestmark = pytest.mark.browser
MADE_UP = 40
"""Requests of each kind that are made up."""
USUAL: dict[str, tuple[Any, ...]] = {
    "number": (1, 2, 3, 4),
    "label": ("bad", "fever"),
    "method": ("occlusion", "lime[samples=20]", "lime"),
    "kind": ("accept", "mark", "undo", "note", "done"),
    "sort": ("doubt", "order"),
    "show": ("all", "done"),
    "form": ("brat", "conll", "labelstudio"),
    "version": (0, 1),
    "part": (0,),
}
ANY = tuple(HealthCheck)
READERS, EACH = 50, 6
MOST_TIMES = 3
LISTENERS = 500


def test_no_request_that_can_be_made_up_breaks_the_server(tmp_path: Path) -> None:
    import schemathesis  # noqa: PLC0415  installed by `make test-browser` alone

    own = workbench_app.bench(workbench_app.sqlite(tmp_path))
    with client(own) as found:
        ada = Browser(found)
        schema = schemathesis.openapi.from_dict(found.app.openapi())
        schema.app = found.app
        operations = [one.ok() for one in schema.get_all_operations()]
        assert len(operations) >= 25
        codes: dict[str, set[int]] = {}
        for one in operations:
            codes[f"{one.method} {one.path}"] = _tried(one, ada)
    assert {name: own for name, own in codes.items() if any(code >= 500 for code in own)} == {}
    assert sum(any(code < 300 for code in own) for own in codes.values()) >= 20  # and most were understood at times


def _tried(operation: Any, ada: Browser) -> set[int]:
    """Make up requests of a kind, some with values that exist, and return the codes of the answers."""
    codes: set[int] = set()

    @settings(
        max_examples=MADE_UP, deadline=None, derandomize=True, database=None, suppress_health_check=[*HealthCheck]
    )
    @given(operation.as_strategy(), st.data())
    def run(case: Any, data: Any) -> None:
        for place in (case.path_parameters, case.query, case.body):
            if isinstance(place, dict):
                for name in place.keys() & USUAL.keys():
                    if data.draw(st.booleans()):
                        place[name] = data.draw(st.sampled_from(USUAL[name]))
        headers = {"x-whylight-token": ada.token, "accept": data.draw(st.sampled_from(["text/html", "*/*"]))}
        codes.add(case.call(base_url=f"http://{HOST}", headers=headers, cookies=ada.cookies).status_code)

    run()
    return codes


@contextmanager
def listening(own: Bench, *more: tuple[str, Callable[[], Any]]) -> Iterator[int]:
    """A real server in this process, perhaps with more pages; yields its port."""
    import uvicorn  # noqa: PLC0415

    with opened("127.0.0.1", 0) as place:
        port = place.getsockname()[1]
        app = make_app(own, hosts=[f"localhost:{port}"])
        for path, page in more:
            app.add_api_route(path, page)
        config = {"log_level": "error", "access_log": False, "backlog": 2048, "timeout_graceful_shutdown": 1}
        server = uvicorn.Server(uvicorn.Config(app, **config))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield port
        finally:
            server.should_exit = True
            thread.join()


def signed_in(port: int, name: str) -> str:
    """Return the cookie of somebody who has signed in."""
    with closing(http.client.HTTPConnection("localhost", port, timeout=60)) as line:
        line.request("POST", "/api/sign-in", f'{{"name": "{name}"}}', {"content-type": "application/json"})
        answer = line.getresponse()
        assert answer.status == 200
        cookie = SimpleCookie(answer.headers["set-cookie"])
    return "; ".join(f"{one}={value.value}" for one, value in cookie.items())


def corpus(own: Bench, size: int) -> None:
    """Put documents into a workbench, with standings as if the model had looked at them."""
    records = tuple(Record(f"note {i}", Text(f"a bad film, number {i}"), ()) for i in range(size))
    own.journal.take_in(Dataset("notes", "test", (), records))
    for i in range(0, size, max(1, size // 500)):
        own.desk.findings.place(i + 1, Standing({"bad": 0.9}, i / size, 0.5, 1 - i / size, {}))


def late(times: list[float]) -> float:
    """The 95th percentile."""
    return sorted(times)[int(0.95 * len(times))]


def test_fifty_readers_wait_little_longer_than_for_a_page_from_memory(tmp_path: Path) -> None:
    own = workbench_app.bench(workbench_app.sqlite(tmp_path), texts=[])
    corpus(own, 1000)
    asked, model = Asked(), own.desk.findings.model
    kept = queue_page(own.engine, asked, "Ada", model=model)

    def from_memory() -> HTMLResponse:
        return pages.render("queue.html", own.sessions.start("Ada", None), **pages.queue_values(own, asked, kept))

    with listening(own, ("/from-memory", from_memory)) as port:
        cookies = [signed_in(port, f"Reader {i}") for i in range(READERS)]
        both = {path: late(_read(port, path, cookies)) for path in ("/from-memory", "/", "/from-memory", "/")}
    ratio = both["/"] / both["/from-memory"]
    print(  # noqa: T201  the figure that is asked for
        f"\n{READERS} readers: a page of the queue {1000 * both['/']:.0f} ms, from memory "
        f"{1000 * both['/from-memory']:.0f} ms (p95), ratio {ratio:.2f}"
    )
    assert ratio <= MOST_TIMES


def _read(port: int, path: str, cookies: list[str]) -> list[float]:
    """Let readers load a page at once, some times each, and return how long they waited."""
    start, times = threading.Barrier(len(cookies)), list[float]()

    def read(cookie: str) -> None:
        with closing(http.client.HTTPConnection("localhost", port, timeout=120)) as line:
            start.wait()
            for _ in range(EACH):
                begun = time.perf_counter()
                line.request("GET", path, headers={"cookie": cookie, "accept": "text/html"})
                answer = line.getresponse()
                answer.read()
                assert answer.status == 200
                times.append(time.perf_counter() - begun)

    threads = [threading.Thread(target=read, args=(one,)) for one in cookies]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(times) == EACH * len(cookies)
    return times


def test_a_queue_of_ten_thousand_documents_is_quick(tmp_path: Path) -> None:
    own = workbench_app.bench(workbench_app.sqlite(tmp_path), texts=[])
    few = _page_time(own, 100)
    many = _page_time(own, 10_000)
    print(f"\na page of 100 documents {1000 * few:.0f} ms, of 10,000 {1000 * many:.0f} ms")  # noqa: T201
    assert many < few + 0.25  # seconds of processor time
    assert queue_page(own.engine, Asked(), "Ada", model=own.desk.findings.model).total == 10_000


def _page_time(own: Bench, size: int) -> float:
    corpus(own, size)
    times = []
    with client(own) as found:
        ada = Browser(found)
        for path in ("/", "/?sort=doubt&page=2", "/?show=all&find=number+7", "/api/documents/1?sort=uncertainty") * 3:
            begun = time.process_time()
            assert ada.get(path, headers={"accept": "text/html"}).status_code == 200
            times.append(time.process_time() - begun)
    return late(times)


def test_hundreds_who_only_listen_keep_nobody_waiting(tmp_path: Path) -> None:
    waiting = threading.Event()
    own = workbench_app.bench(workbench_app.sqlite(tmp_path))
    with listening(own) as port:
        cookie = signed_in(port, "Ada")
        workbench_app.waited(own)
        own.job.start([None], lambda _one: waiting.wait(120), total=1)
        listeners = [_listen(port, cookie) for _ in range(LISTENERS)]
        codes = [_code(one) for one in listeners]
        assert codes.count(200) == MOST_READERS
        assert codes.count(503) == LISTENERS - MOST_READERS
        times = _read(port, "/", [cookie] * 5)
        print(f"\n{LISTENERS} listeners, {MOST_READERS} served: a page takes {1000 * late(times):.0f} ms")  # noqa: T201
        assert late(times) < 10
        waiting.set()
        for one in listeners:
            one.close()
        workbench_app.waited(own)
        assert _code(_listen(port, cookie)) == 200  # who has gone makes room


def _listen(port: int, cookie: str) -> socket.socket:
    line = socket.create_connection(("127.0.0.1", port), timeout=60)
    line.sendall(f"GET /api/progress HTTP/1.1\r\nHost: localhost:{port}\r\nCookie: {cookie}\r\n\r\n".encode())
    return line


def _code(line: socket.socket) -> int:
    return int(line.recv(64).split(b" ")[1])
