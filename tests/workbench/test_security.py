"""Attacks, one by one: each is refused, and the server goes on."""

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

import workbench_app
from whylight.cli.serve import is_loopback, names_of
from whylight.workbench.app import make_app
from whylight.workbench.guard import LARGEST
from whylight.workbench.sessions import COOKIE, Sessions
from workbench_app import HOST, TEXTS, XSS, Browser, span

PASSWORD = "correct horse"  # noqa: S105  of a test
EVENT = {"version": 0, "kind": "done"}
PAGES = (
    "/",
    "/documents/1",
    "/documents/1/adjudicate",
    "/history",
    "/agreement",
    "/suggestions",
    "/export",
    "/playground",
)
TEXT_HTML = {"accept": "text/html"}


@pytest.fixture
def client(database: str) -> Iterator[Any]:
    with workbench_app.client(workbench_app.bench(database, password=PASSWORD)) as found:
        yield found


@pytest.fixture
def ada(client: Any) -> Browser:
    return Browser(client, password=PASSWORD)


def test_every_route_asks_who_is_there(client: Any, database: str) -> None:
    app = make_app(workbench_app.bench(database), hosts=[HOST])
    paths = app.openapi()["paths"]
    assert len(paths) >= 24
    for path, verbs in paths.items():
        for verb in verbs:
            if path in ("/api/sign-in", "/sign-in"):
                continue
            given = {"json": EVENT} if verb == "post" else {}
            answer = getattr(client, verb)(path.replace("{number}", "1"), **given)
            assert answer.status_code == 401, (verb, path, answer.status_code)
    for page in PAGES:
        answer = client.get(page, headers=TEXT_HTML, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")


def test_the_password_is_needed_and_stands_in_no_url(client: Any) -> None:
    for wrong in (None, "", "x", PASSWORD + "x", "é"):
        answer = client.post(
            "/api/sign-in", json={"name": "Eve", "password": wrong} if wrong is not None else {"name": "Eve"}
        )
        assert answer.status_code in (401, 422), wrong
    assert client.get(f"/?password={PASSWORD}", headers=TEXT_HTML, follow_redirects=False).status_code == 303


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost:8001", "localhost:8000.evil.example", "", "127.0.0.1:8000@x"]
)
def test_other_hosts_are_refused(ada: Browser, host: str) -> None:
    answer = ada.get("/api/documents/1", headers={"host": host})
    assert answer.status_code == 421


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": f"http://{HOST}.evil.example"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"x-whylight-token": "x" * 64}, 403),
        ({"x-whylight-token": "é".encode()}, 403),
    ],
)
def test_requests_of_other_sites_change_nothing(ada: Browser, headers: dict[str, Any], code: int) -> None:
    ada.client.cookies.update(ada.cookies)
    own = {"x-whylight-token": ada.token, "content-type": "application/json", "origin": f"http://{HOST}", **headers}
    answer = ada.client.post("/api/documents/1/events", content='{"version": 0, "kind": "done"}', headers=own)
    assert answer.status_code == code
    assert ada.get("/api/documents/1").json()["review"]["version"] == 0


def test_a_token_of_another_session_is_refused(client: Any, ada: Browser) -> None:
    bob = Browser(client, "Bob", PASSWORD)
    bob.token = ada.token
    assert bob.act(1, "done").status_code == 403


@pytest.mark.parametrize("cookie", ["", "x", "x.y", "WyJhIiwgImIiXQ.00", "é.é", "." * 50])
def test_cookies_that_are_not_ours_are_nobody(client: Any, cookie: str) -> None:
    assert client.get("/api/job", headers={"cookie": f"{COOKIE}={cookie}".encode()}).status_code == 401


def test_sessions_of_another_key_are_nobody() -> None:
    session = Sessions(b"a" * 32, None).start("Ada", None)
    assert session is not None
    assert Sessions(b"b" * 32, None).of(session.cookie) is None
    found = Sessions(b"a" * 32, None).of(session.cookie)
    assert found == session


def test_a_new_password_ends_what_came_before() -> None:
    """Who was let in by an older password, or when none was needed, is nobody."""
    for before in (None, "older"):
        session = Sessions(b"a" * 32, before).start("Ada", before)
        assert session is not None
        assert Sessions(b"a" * 32, PASSWORD).of(session.cookie) is None
    kept = Sessions(b"a" * 32, PASSWORD).start("Ada", PASSWORD)
    assert kept is not None
    assert Sessions(b"a" * 32, PASSWORD).of(kept.cookie) == kept
    assert Sessions(b"a" * 32, None).of(kept.cookie) is None


def test_a_name_is_one_name_however_it_is_written() -> None:
    names = [Sessions(b"a" * 32, None).start(one, None) for one in ("Zoe\u0308", "Zo\u00eb", " Zo\u00eb ")]
    assert {one.reviewer for one in names if one} == {"Zo\u00eb"}


def test_a_server_is_called_as_browsers_call_it() -> None:
    assert names_of("localhost", 8000) == ["localhost:8000"]
    assert names_of("localhost", 80) == ["localhost:80", "localhost"]
    assert names_of("fe80::1", 8000) == ["[fe80::1]:8000"]
    assert names_of("[::1]", 80) == ["[::1]:80", "[::1]"]


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(client: Any) -> None:
    answer = client.post("/api/sign-in", json={"name": "Ada", "password": PASSWORD})
    said = answer.headers["set-cookie"].lower()
    assert "httponly" in said
    assert "samesite=strict" in said


def test_large_bodies_are_refused_whatever_they_claim(ada: Browser) -> None:
    ada.client.cookies.update(ada.cookies)
    headers = {"x-whylight-token": ada.token, "content-type": "application/json"}
    big = b'{"version": 0, "kind": "note", "note": "' + b"x" * LARGEST + b'"}'
    for content in (big, iter([big])):  # with its length, and in pieces without one
        answer = ada.client.post("/api/documents/1/events", content=content, headers=headers)
        assert answer.status_code == 413
    assert ada.get("/api/documents/1").json()["review"]["version"] == 0


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/%252e%252e/app.py",
        "/static/..%2fapp.py",
        "/static/%00",
        "/static//etc/passwd",
        "/documents/../../etc/passwd",
        "/documents/%00",
        "/documents/1e9",
        "/documents/99999999999999999999",
        "/documents/-1",
    ],
)
def test_paths_lead_nowhere_else(ada: Browser, path: str) -> None:
    answer = ada.get(path, headers=TEXT_HTML)
    assert answer.status_code in (404, 422), answer.status_code
    assert "make_app" not in answer.text


def test_other_peoples_text_is_escaped_on_every_page(database: str) -> None:
    import whylight as wl  # noqa: PLC0415
    from whylight.core.text import Text  # noqa: PLC0415
    from whylight.data.dataset import Dataset, Record  # noqa: PLC0415
    from whylight.workbench.bench import make_bench  # noqa: PLC0415
    from whylight.workbench.database import open_database  # noqa: PLC0415

    model = wl.load(lambda texts: [[0.9]] * len(texts), labels=[XSS], identity=XSS, head="sigmoid")
    data = Dataset("x", "test", (), (Record(XSS, Text(XSS), ()),))
    own = make_bench(open_database(database), model, data, methods=["occlusion"], password=None)
    with workbench_app.client(own) as client:
        people = [Browser(client, "<i>Ada</i>"), Browser(client, "Bob")]
        for one, kind in zip(people, ("accept", "reject"), strict=True):
            assert one.act(1, kind, label=XSS).status_code == 201
            one.act(1, "note", note=XSS)
            one.act(1, "done")
        for page in ("/?show=all", "/documents/1", "/history", "/agreement", "/playground", "/documents/1/adjudicate"):
            text = people[0].get(page, headers=TEXT_HTML).text
            assert "<script>alert" not in text, page
            assert "<img src=x" not in text, page
            assert "<i>Ada" not in text, page


def test_answers_forbid_inline_scripts_frames_and_guessing(ada: Browser) -> None:
    for path in ("/", "/api/job", "/static/api.js", "/nothing"):
        headers = ada.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers


def test_pages_hold_no_inline_script_or_style(ada: Browser) -> None:
    for page in ("/", "/documents/1", "/history", "/agreement", "/playground"):
        seen = _Tags()
        seen.feed(ada.get(page, headers=TEXT_HTML).text)
        assert len(seen.found) > 10
        for tag, attributes in seen.found:
            assert tag != "style", page
            assert tag != "script" or "src" in attributes, page
            assert not any(name == "style" or name.startswith("on") for name in attributes), page


class _Tags(HTMLParser):
    """The tags of a page with the names of their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, set[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name for name, _ in attrs}))


@pytest.mark.parametrize("name", ["", " ", "x" * 61, "a\x1b[2J", "a\u202eb", "\0"])
def test_names_are_visible(client: Any, name: str) -> None:
    assert client.post("/api/sign-in", json={"name": name, "password": PASSWORD}).status_code == 422


def test_addresses_of_this_machine() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.0.1", "example.org")))  # noqa: S104


ESCAPES = (
    "/static/../app.py",
    "/static/../../database.py",
    "/static/..//..//app.py",
    "/static/....//app.py",
    "/static/..\\app.py",
    "/static/\0",
    "/static/api.js\0.css",
    "/static/%2e%2e/app.py",
    "/static//etc/passwd",
    "/static/" + "../" * 20 + "etc/passwd",
    "/static/" + "a" * 5000,
    "/documents/1/../../app.py",
    "/api/documents/1/file/../../../app.py",
    "//etc/passwd",
)


@pytest.mark.parametrize("path", ESCAPES)
def test_paths_that_no_browser_would_tidy_lead_nowhere_else(ada: Browser, path: str) -> None:
    """As they come off the wire, decoded once; clients for tests would take the dots away."""
    said: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        said.append(message)

    cookie = "; ".join(f"{name}={value}" for name, value in ada.cookies.items()).encode()
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", HOST.encode()), (b"cookie", cookie), (b"accept", b"text/html")],
        "http_version": "1.1",
        "scheme": "http",
        "server": ("localhost", 8000),
        "client": ("127.0.0.1", 1),
        "root_path": "",
    }
    ada.client.portal.call(ada.client.app, scope, receive, send)
    assert said[0]["status"] in (404, 422), said[0]
    body = b"".join(one.get("body", b"") for one in said[1:])
    assert b"root:" not in body
    assert b"import" not in body


@pytest.mark.parametrize(
    "headers",
    [
        [("host", HOST), ("host", "evil.example")],
        [("host", "evil.example"), ("x-forwarded-host", HOST)],
        [("host", "evil.example"), ("forwarded", f"host={HOST}")],
        [("host", "localhost.:8000")],
        [("host", "localhost")],
        [("host", f"{HOST}, evil.example")],
        [("host", f"evil.example/{HOST}")],
        [("host", f"{HOST}#")],
    ],
)
def test_a_host_that_is_said_otherwise_is_no_host_of_ours(ada: Browser, headers: list[tuple[str, str]]) -> None:
    ada.client.cookies.update(ada.cookies)
    assert ada.client.get("/api/job", headers=headers).status_code == 421


def test_nobody_writes_into_the_work_of_others(client: Any, ada: Browser) -> None:
    bob = Browser(client, "Bob", PASSWORD)
    for more in ({"reviewer": "Bob"}, {"stream": "review:Bob"}, {"document": 2}, {"at": "1970"}, {"version": "0"}):
        body = {"version": 0, "kind": "done", **more}
        assert ada.post("/api/documents/1/events", body).status_code == 422
    assert ada.act(1, "accept", label="bad").status_code == 201
    assert bob.get("/api/documents/1").json()["review"]["version"] == 0
    assert [row["reviewer"] for row in bob.get("/api/history").json()] == ["Ada"]


@pytest.mark.parametrize("number", ["0", "-1", "5", "99", "2147483647", "2147483648", "1e3", "0x1", "１", "%31%00"])
def test_ids_of_nothing_are_not_found(ada: Browser, number: str) -> None:
    for path in ("", "/evidence?label=bad&method=occlusion", "/file"):
        assert ada.get(f"/api/documents/{number}{path}").status_code in (404, 422)
    for path in ("events", "adjudication", "without"):
        body = (
            {"version": 0, "kind": "done"} if path != "without" else {"label": "bad", "spans": [span(TEXTS[0], "bad")]}
        )
        assert ada.post(f"/api/documents/{number}/{path}", body).status_code in (404, 422)


def test_evidence_that_lies_about_the_text_is_refused(ada: Browser) -> None:
    for change in ({"text": "x"}, {"start": -1}, {"end": 10**9}, {"part": 1}, {"start": 2**70}, {"start": 1.5}):
        lying = {**span(TEXTS[0], "bad"), **change}
        assert ada.post("/api/documents/1/without", {"label": "bad", "spans": [lying]}).status_code == 422
        event = {"version": 0, "kind": "mark", "label": "bad", "span": lying}
        assert ada.post("/api/documents/1/events", event).status_code == 422


@pytest.mark.parametrize(
    "query", ["sort=id", "sort=id;drop", "show=x", "page=0", "page=9999999999999999999", "find=" + "x" * 201]
)
def test_only_what_is_on_a_list_is_sorted_and_filtered_by(ada: Browser, query: str) -> None:
    for path in ("/", "/documents/1", "/api/documents/1"):
        answer = ada.get(f"{path}?{query}", headers=TEXT_HTML)
        assert answer.status_code == 422
        assert "SELECT" not in answer.text
