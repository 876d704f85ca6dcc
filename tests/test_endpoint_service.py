"""A service that fails now and then: the same scores or a clear sentence, and nothing goes anywhere else."""

import json
import signal
import socket
import ssl
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import whylight as wl
from answering import Handler, answer, likely, serving, slowly
from whylight.core.errors import ModelError
from whylight.models.failures import seconds_of
from whylight.models.service import Pace

WORDS = 20
TEXT = " ".join(f"good{number}" if number % 3 else "good" for number in range(WORDS))
LIME = {"method": "lime", "samples": 250, "score": "log_odds"}


class Trouble:
    """Does something else to every few requests, in turn."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def __call__(self, handler: Handler, number: int) -> bool:
        if number < 4 or number % 3:
            return False
        kinds = ("429", "500", "503", "dropped", "half", "closed", "slow", "late")
        kind = kinds[number // 3 % len(kinds)]
        if kind == "late" and self.seen["late"] > 2:  # each costs a whole timeout
            return False
        self.seen[kind] += 1
        return bool(getattr(self, f"_{kind}")(handler))

    def _429(self, handler: Handler) -> bool:
        handler.say(429, {"error": {"message": "slow down"}}, Retry_After="0")
        return True

    def _500(self, handler: Handler) -> bool:
        handler.say(500, b"oops")
        return True

    def _503(self, handler: Handler) -> bool:
        handler.say(503, b"<html>", Connection="close")
        return True

    def _dropped(self, handler: Handler) -> bool:
        handler.connection.shutdown(socket.SHUT_RDWR)
        handler.drop()
        return True

    def _half(self, handler: Handler) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Length", "500")
        handler.end_headers()
        handler.wfile.write(b'{"choices": [')
        handler.drop()
        return True

    def _closed(self, handler: Handler) -> bool:
        handler.wfile.write(b'HTTP/1.0 200 OK\r\n\r\n{"choices": [')  # says not how much it will say
        handler.drop()
        return True

    def _slow(self, _handler: Handler) -> bool:
        time.sleep(0.02)
        return False

    def _late(self, _handler: Handler) -> bool:
        time.sleep(0.6)
        return False


def test_200_perturbations_of_a_troubled_service_have_the_same_scores() -> None:
    trouble = Trouble()
    with serving() as calm, serving(fault=trouble) as troubled:
        expected = wl.explain(calm.load(), TEXT, **LIME)
        found = wl.explain(troubled.load(retries=8, timeout=0.4, in_flight=4), TEXT, **LIME)
    assert np.array_equal(found.scores, expected.scores)
    assert found.provenance.forward_passes == expected.provenance.forward_passes > 200
    assert set(trouble.seen) == {"429", "500", "503", "dropped", "half", "closed", "slow", "late"}
    assert len(troubled.requests) >= len(calm.requests) + sum(trouble.seen.values()) - trouble.seen["slow"]


def test_nothing_else_is_contacted_also_with_a_proxy_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    contacted: list[Any] = []
    connect, connect_ex, resolve = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def connecting(own: socket.socket, address: Any) -> Any:
        contacted.append(address)
        return connect(own, address)

    def connecting_ex(own: socket.socket, address: Any) -> Any:
        contacted.append(address)
        return connect_ex(own, address)

    def resolving(host: Any, port: Any, *rest: Any, **options: Any) -> Any:
        contacted.append((host, port))
        return resolve(host, port, *rest, **options)

    with serving(fault=Trouble()) as server:
        monkeypatch.setattr(socket.socket, "connect", connecting)
        monkeypatch.setattr(socket.socket, "connect_ex", connecting_ex)
        monkeypatch.setattr(socket, "getaddrinfo", resolving)
        clf = server.load(timeout=0.4)
        wl.explain(clf, "a good film", method=["occlusion", "lime"], samples=20)
        port = int(server.url.rpartition(":")[2].partition("/")[0])
    assert set(contacted) == {("127.0.0.1", port)}
    assert len(server.requests) > 8


def test_a_redirect_is_not_followed() -> None:
    with serving() as elsewhere, serving() as server:

        def redirect(handler: Handler, _number: int) -> bool:
            handler.say(307, b"", Location=f"{elsewhere.url}/completions")
            return True

        server.fault = redirect
        with pytest.raises(ModelError, match=r"answered 307, a redirect, which is not followed"):
            server.load()
    assert (len(server.requests), elsewhere.requests) == (1, [])


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 422])
def test_a_refusal_is_not_repeated(status: int) -> None:
    def refuse(handler: Handler, _number: int) -> bool:
        handler.say(status, {"error": {"message": "no such\nthing\x1b[31m"}})
        return True

    with serving(fault=refuse) as server:
        with pytest.raises(ModelError) as caught:
            server.load()
        assert len(server.requests) == 1
    assert f"the endpoint {server.url} answered {status}" in str(caught.value)
    assert ("it says: no such thing\ufffd[31m" in str(caught.value)) == (status not in (401, 403))
    assert ("no model 'my-llm'" in str(caught.value)) == (status == 404)
    assert ("key_variable" in str(caught.value)) == (status in (401, 403))


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_repeated_and_then_told(status: int) -> None:
    def refuse(handler: Handler, number: int) -> bool:
        if number > 4:  # the trial, the text, once more, and one variant
            handler.say(status, {"error": "busy"})
        return number > 4

    with serving(fault=refuse) as server:
        clf = server.load(retries=2, in_flight=1)
        with pytest.raises(ModelError) as caught:
            wl.explain(clf, "a very good film", method="occlusion")
        assert len(server.requests) == 4 + 3
        assert str(caught.value) == (
            f"the endpoint {server.url} answered {status} (it says: busy) (3 times in a row); 2 answers that came "
            "before are kept in this process, and not asked for again."
        )
        server.fault = lambda _handler, _number: False
        again = wl.explain(clf, "a very good film", method="occlusion", score="log_odds", target="positive")
        assert len(server.requests) == 7 + 3  # of five texts, two were there
        notes = [wl.explain(clf, text, method="random").provenance.notes for text in ("good", "bad")]
    assert again.scores[0] == pytest.approx([0.0, 0.25, 1.5, 0.125])
    assert "answers that came before earlier work was stopped" in again.provenance.notes[1]
    assert not any("stopped" in one for own in notes for one in own)  # they are used up


def test_a_service_is_left_alone_for_as_long_as_it_asks() -> None:
    times: list[float] = []

    def put_off(handler: Handler, number: int) -> bool:
        times.append(time.monotonic())
        if number == 2:
            handler.say(429, {}, Retry_After="1")
        return number == 2

    with serving(fault=put_off) as server:
        wl.explain(server.load(in_flight=1), "good", method="occlusion")
    assert times[2] - times[1] >= 1.0


@pytest.mark.parametrize(
    ("given", "least", "most"),
    [
        ("3", 3, 3),
        (" 7 ", 7, 7),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0),
        ("Wed, 21 Oct 2999 07:28:00 GMT", 1e9, 1e12),
        ("soon", 0, 0),
        ("-5", 0, 0),
        ("1e400", 0, 0),
        ("\u0663", 3, 3),
        ("", 0, 0),
        (None, 0, 0),
    ],
)
def test_when_to_come_back_is_a_number_or_a_date(given: str | None, least: float, most: float) -> None:
    assert least <= seconds_of(given) <= most


def test_requests_keep_their_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    with monkeypatch.context() as clock:
        clock.setattr(time, "monotonic", lambda: now[0])
        pace, free = Pace(600), Pace(None)
        assert [pace.turn() for _ in range(4)] == pytest.approx([0, 0.1, 0.2, 0.3])
        now[0] += 0.25
        assert pace.turn() == pytest.approx(0.15)
        pace.hold(5)
        free.hold(5)
        assert [pace.turn(), pace.turn(), free.turn(), free.turn()] == pytest.approx([5, 5.1, 5, 5])
        now[0] += 60
        assert [pace.turn(), free.turn(), free.turn()] == [0, 0, 0]
    with serving() as server:
        started = time.monotonic()
        wl.explain(server.load(per_minute=1200), "a good film", method="occlusion")  # six requests
        assert time.monotonic() - started >= 5 * 0.05


def test_no_more_requests_are_under_way_than_may_be_however_many_threads_ask() -> None:
    with serving(fault=slowly(0.005)) as server:
        clf = server.load(in_flight=3)
        texts = [f"a good film number {number}" for number in range(12)]
        with ThreadPoolExecutor(12) as pool:
            found = list(pool.map(lambda text: wl.explain(clf, text, method="occlusion", score="log_odds"), texts))
        assert server.busiest == 3
        assert server.connections <= 4
    assert all(one.scores[0][1] == pytest.approx(1.5) for one in found)


def drip(handler: Handler, piece: bytes) -> bool:
    for _ in range(200):
        handler.wfile.write(piece)
        time.sleep(0.02)
    return True


def drip_headers(handler: Handler, _number: int) -> bool:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    return drip(handler, b"x")


def drip_body(handler: Handler, _number: int) -> bool:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    return drip(handler, b" ")


def drip_continues(handler: Handler, _number: int) -> bool:
    return drip(handler, b"HTTP/1.1 100 Continue\r\n\r\n")


@pytest.mark.parametrize("fault", [drip_headers, drip_body, drip_continues, slowly(4.0)])
def test_an_answer_that_never_ends_is_given_up(fault: Any) -> None:
    with serving(fault=fault) as server:
        started = time.monotonic()
        with pytest.raises(ModelError, match=r"gave no whole answer within 0.2 s \(2 times in a row\)"):
            server.load(timeout=0.2, retries=1)
        assert time.monotonic() - started < 3  # where each would take four


def huge_body(handler: Handler, _number: int) -> bool:
    handler.say(200, b" " * 2**21)
    return True


def huge_chunks(handler: Handler, _number: int) -> bool:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(64):
        handler.wfile.write(b"10000\r\n" + b" " * 2**16 + b"\r\n")
    return True


def huge_header(handler: Handler, _number: int) -> bool:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 10**6)
    handler.drop()
    return True


def nonsense(handler: Handler, _number: int) -> bool:
    handler.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n")
    handler.drop()
    return True


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (huge_body, "sent more than 1,048,576 bytes for one answer"),
        (huge_chunks, "sent more than 1,048,576 bytes for one answer"),
        (huge_header, "does not speak HTTP"),
        (nonsense, "does not speak HTTP"),
    ],
)
def test_what_is_no_answer_is_told(fault: Any, said: str) -> None:
    with serving(fault=fault) as server, pytest.raises(ModelError, match=said):
        server.load(retries=0)


def test_an_answer_too_many_is_not_taken_for_the_next_one() -> None:
    def twice(handler: Handler, number: int) -> bool:
        bodies = (first, first.replace(b'positive": -', b'positive": -9'))
        both = b"".join(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(one), one) for one in bodies)
        if number > 1:
            handler.wfile.write(both)
        return number > 1

    def hint(handler: Handler, number: int) -> bool:
        if number == 3:
            handler.wfile.write(b"HTTP/1.1 103 Early Hints\r\n\r\n")
            time.sleep(0.05)
        return False

    sent = {"model": "my-llm", "prompt": "Review: good\nSentiment:", "logprobs": 20}
    first = json.dumps(answer(sent, likely)).encode()
    with serving(fault=twice) as server:
        explanation = wl.explain(server.load(in_flight=1), "a good film", method="occlusion")
        assert np.array_equal(explanation.scores, np.zeros((1, 3)))  # all have the first answer
    with serving(fault=hint) as server:
        clf = server.load(in_flight=1, retries=0)
        with pytest.raises(ModelError, match="answered 103"):
            wl.explain(clf, "good film", method="occlusion")
        found = wl.explain(clf, "good film", method="occlusion", score="log_odds")
        assert server.connections == 2
    assert found.scores[0] == pytest.approx([1.5, 0.125])


def test_nobody_there_is_told_at_once_and_one_who_was_there_is_waited_for() -> None:
    with serving() as server:
        clf = server.load(retries=3)
    with pytest.raises(ModelError, match=r"nobody listens there\.$"):
        server.load(retries=50)
    with pytest.raises(ModelError, match=r"nobody listens there \(4 times in a row\); no answer had come before"):
        wl.explain(clf, "good")
    with pytest.raises(ModelError, match="its machine has no address"):
        wl.load(wl.Endpoint("https://nowhere.invalid/v1", model="x"), prompt="sentiment")
    with pytest.raises(ModelError, match="no machine can have such a name"):
        wl.load(wl.Endpoint("https://a..b/v1", model="x"), prompt="sentiment")


def test_certificates_are_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[ssl.SSLContext] = []
    make = ssl.create_default_context
    monkeypatch.setattr(ssl, "create_default_context", lambda: used.append(make()) or used[-1])
    with serving() as server, pytest.raises(ModelError, match=r"does not speak HTTPS as it should\.$"):
        wl.load(wl.Endpoint(server.url.replace("http:", "https:"), model="x"), prompt="sentiment")
    assert [(one.verify_mode, one.check_hostname) for one in used] == [(ssl.CERT_REQUIRED, True)]
    assert server.requests == []


def test_a_name_of_this_machine_that_leads_elsewhere_is_not_spoken_to(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as server:
        monkeypatch.setattr(socket.socket, "getpeername", lambda _own: ("192.0.2.1", 80))
        with pytest.raises(ModelError, match="leads to another machine, and text would travel to it unencrypted"):
            server.load()
    assert server.requests == []


@pytest.fixture
def own_handler() -> Any:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


@pytest.mark.usefixtures("own_handler")
def test_ctrl_c_ends_waiting_at_once_and_what_came_is_kept() -> None:
    main = threading.main_thread().ident
    assert main is not None
    struck: list[float] = []

    def stuck(_handler: Handler, number: int) -> bool:
        if number == 7:  # both requests that may be under way are stuck
            struck.append(time.monotonic())
            signal.pthread_kill(main, signal.SIGINT)
        if number > 5:
            time.sleep(4)
        return False

    with serving(fault=stuck) as server:
        clf = server.load(in_flight=2, retries=50)
        with pytest.raises(KeyboardInterrupt):
            wl.explain(clf, "a very good film , not bad", method="occlusion")
        assert time.monotonic() - struck[0] < 2
        asked = len(server.requests)
        assert asked == 7
        time.sleep(0.1)
        assert len(server.requests) == asked  # none begins afterwards
        server.fault = lambda _handler, _number: False
        wl.explain(clf, "a very good film , not bad", method="occlusion")
        assert len(server.requests) == asked + 8 - 3  # the text and two of its seven variants had come


def test_a_connection_that_the_server_closed_meanwhile_is_opened_anew() -> None:
    with serving() as server:
        clf = server.load(retries=0, in_flight=1)
        for connection in server.open:
            connection.shutdown(socket.SHUT_RDWR)
        assert wl.explain(clf, "good", method="occlusion").scores.shape == (1, 1)
        assert server.connections == 2
