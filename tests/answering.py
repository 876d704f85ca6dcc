"""A service on this machine that speaks OpenAI's protocol, answers from a function, and fails as it is told to."""

import json
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import whylight as wl
from whylight.core.prompt import Prompt

WORTH = {"good": 1.5, "bad": -2.0, "very": 0.25, "not": -0.5, "film": 0.125}
NAME = "my-llm"
Tokens = Mapping[str, float]
Fault = Callable[["Handler", int], bool]
"""Does something else than to answer a request, by its number; says whether it did."""


def worth(text: str) -> float:
    """A log-odds that is additive in words."""
    return 0.5 + sum(WORTH.get(word, 0.0) for word in text.lower().split())


def likely(prompt: str) -> dict[str, float]:
    """The tokens behind a prompt: both answers and something else, as log-probabilities that are known."""
    text = prompt.rsplit("Review: ", maxsplit=1)[-1].removesuffix("\nSentiment:")
    share = 1 / (1 + math.exp(-worth(text)))
    answers = {" positive": 0.75 * share, " negative": 0.75 * (1 - share), " fine": 0.25}
    return {token: math.log(value) for token, value in answers.items()}


@dataclass
class Server:
    """What a test says to the server, and what the server has seen."""

    tokens: Callable[[str], Tokens] = likely
    fault: Fault = lambda _handler, _number: False
    reply: Callable[[dict[str, Any], dict[str, Any]], Any] = lambda _asked, answer: answer
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    busy: int = 0
    busiest: int = 0
    connections: int = 0
    open: list[Any] = field(default_factory=list)
    lock: Any = field(default_factory=threading.Lock)

    @property
    def prompts(self) -> list[str]:
        return [one["messages"][0]["content"] if "messages" in one else one["prompt"] for one in self.requests]

    def endpoint(self, **options: Any) -> Any:
        quick = {"model": NAME, "wait": 0.001, "timeout": 10.0}
        return wl.Endpoint(self.url, **{**quick, **options})

    def load(self, prompt: Any = None, **options: Any) -> Any:
        return wl.load(self.endpoint(**options), prompt=asked() if prompt is None else prompt)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    state: Server

    def setup(self) -> None:
        super().setup()
        with self.state.lock:
            self.state.connections += 1
            self.state.open.append(self.connection)

    def do_POST(self) -> None:
        state = self.state
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with state.lock:
            state.requests.append(asked)
            state.headers.append(dict(self.headers))
            state.paths.append(self.path)
            number = len(state.requests)
            state.busy += 1
            state.busiest = max(state.busiest, state.busy)
        try:
            if not state.fault(self, number):
                self.say(200, state.reply(asked, answer(asked, state.tokens)))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with state.lock:
                state.busy -= 1

    def say(self, status: int, content: Any, **headers: str) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def drop(self) -> None:
        self.close_connection = True

    def log_message(self, *_: object) -> None: ...


def answer(asked: dict[str, Any], tokens: Callable[[str], Tokens]) -> dict[str, Any]:
    chat = "messages" in asked
    count = asked["top_logprobs"] if chat else asked["logprobs"]
    prompt = asked["messages"][0]["content"] if chat else asked["prompt"]
    best = sorted(tokens(prompt).items(), key=lambda pair: -pair[1])[:count]
    if chat:
        listed = [{"token": token, "logprob": value, "bytes": list(token.encode())} for token, value in best]
        logprobs: dict[str, Any] = {"content": [{**listed[0], "top_logprobs": listed}]}
    else:
        logprobs = {"tokens": [best[0][0]], "token_logprobs": [best[0][1]], "top_logprobs": [dict(best)]}
    said = {"message": {"role": "assistant", "content": best[0][0]}} if chat else {"text": best[0][0]}
    choice = {"index": 0, **said, "logprobs": logprobs, "finish_reason": "length"}
    return {"id": "x", "model": asked["model"], "choices": [choice]}


@contextmanager
def serving(**options: Any) -> Iterator[Server]:
    state = Server(**options)
    kind = type("Own", (Handler,), {"state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.daemon_threads = True
    server.request_queue_size = 64
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        for connection in state.open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        thread.join()


def asked(**options: Any) -> Prompt:
    given = {"template": "Review: {text}\nSentiment:", "answers": {"negative": "negative", "positive": "positive"}}
    return Prompt(**{**given, "name": "mine", **options})


def slowly(seconds: float) -> Fault:
    def wait(_handler: Handler, _number: int) -> bool:
        time.sleep(seconds)
        return False

    return wait
