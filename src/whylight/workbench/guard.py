"""What every request must be like before anything looks at it, and what every answer says to the browser.

- `Host` is one of ours: a page elsewhere that points its own name at this address (DNS rebinding) is refused.
- What changes anything is JSON, comes from our own pages (`Origin`), and is no longer than `LARGEST` bytes.
- Answers forbid inline scripts, frames, foreign sources and guessing of types; nothing is kept by caches.
"""

from collections.abc import Collection
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 2 * 2**20
SAFE = ("GET", "HEAD", "OPTIONS")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)
TOO_LARGE = (413, f"a request has at most {LARGEST:,} bytes.")


class TooLargeError(Exception):
    """A body is longer than it may be."""


class Guard:
    """Stands in front of an application.

    Args:
        app: The application.
        hosts: Names that it may be called by, with ports.
    """

    def __init__(self, app: ASGIApp, *, hosts: Collection[str]) -> None:
        self._app, self._hosts = app, frozenset(one.lower() for one in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            refused = self._refusal(scope["method"], _headers(scope))
            if refused is None:
                await self._answered(scope, receive, send)
            else:
                await _answer(send, *refused)

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer; a body that is longer than its header says is cut off."""
        started, seen = False, 0

        async def bounded() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > LARGEST:
                raise TooLargeError
            return message

        async def guarded(message: Message) -> None:
            nonlocal started
            if started or seen <= LARGEST:  # else the application speaks of a body that it could not read
                started = True
                await send(_with_headers(message) if message["type"] == "http.response.start" else message)

        with suppress(TooLargeError):
            await self._app(scope, bounded, guarded)
        if seen > LARGEST and not started:
            await _answer(send, *TOO_LARGE)

    def _refusal(self, method: str, headers: dict[str, list[str]]) -> tuple[int, str] | None:
        """Return why a request is refused, with its code; None if it is not."""
        hosts = headers.get("host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "this server is not called that; open it by the address that it printed."
        if method in SAFE:
            return None
        if not _is_own(hosts[0].lower(), headers):
            return 403, "what changes anything comes from this server's own pages."
        kinds = [one.partition(";")[0].strip().lower() for one in headers.get("content-type", [])]
        if kinds != ["application/json"]:
            return 415, "send JSON, as application/json."
        sizes = headers.get("content-length", [])
        return TOO_LARGE if any(not one.isdigit() or int(one) > LARGEST for one in sizes) else None


def _is_own(host: str, headers: dict[str, list[str]]) -> bool:
    """Say whether a request comes from a page of this server, as far as the browser says where it comes from."""
    origins, sites = headers.get("origin", []), headers.get("sec-fetch-site", [])
    own = len(origins) <= 1 and all(one.lower().partition("://")[2] == host for one in origins)
    return own and all(site in ("same-origin", "none") for site in sites)


def _with_headers(message: Message) -> Message:
    """Add what every answer says to the browser."""
    own = [pair for pair in message["headers"] if pair[0].lower() != b"server"]
    kept = [] if any(name.lower() == b"cache-control" for name, _ in own) else [(b"cache-control", b"no-store")]
    return {**message, "headers": [*own, *HEADERS, *kept]}


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


async def _answer(send: Send, code: int, sentence: str) -> None:
    body = sentence.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *HEADERS]
    await send({"type": "http.response.start", "status": code, "headers": headers})
    await send({"type": "http.response.body", "body": body})
