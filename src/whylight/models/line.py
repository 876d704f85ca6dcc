"""One connection to an endpoint, which another thread can cut.

A request is bounded as a whole: a server that sends a byte now and then would keep a plain timeout waiting for ever.
Whoever waits for the answer cuts the connection when its time is over, and the thread that reads it gets an error.
No proxy is used and no redirect followed, so that nothing goes to another address than the one that was named.
"""

import socket
import ssl
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection, IncompleteRead
from selectors import EVENT_READ, DefaultSelector
from typing import NamedTuple

from whylight.core.endpoint import Endpoint, is_loopback
from whylight.core.interruption import taken

REDIRECTS = HTTPStatus.MULTIPLE_CHOICES
LARGEST = 2**20
"""Bytes of an answer; one with the twenty likeliest tokens has about 2,000."""


class ElsewhereError(OSError):
    """A name that stands for this machine leads to another one."""


class Reply(NamedTuple):
    """What an endpoint answered.

    Attributes:
        status: Its status, e.g. 200.
        body: What it said; at most one byte more than `LARGEST`.
        whole: Whether it said how much it would say, so that nothing can be missing.
        retry_after: When it would like to be asked again, as it said it.
    """

    status: int
    body: bytes
    whole: bool
    retry_after: str | None


@dataclass(eq=False)
class Line:
    """A connection.

    Attributes:
        endpoint: Where it leads.
        deadline: When the request that is under way must be over; None while there is none.
        used: Whether a request has gone through it.
    """

    endpoint: Endpoint
    deadline: float | None = None
    used: bool = False

    def __post_init__(self) -> None:
        self._socket: socket.socket | None = None
        self._connection: HTTPConnection | None = None
        self._lock = threading.Lock()
        self._is_cut = False

    @property
    def is_cut(self) -> bool:
        """Whether somebody has cut it."""
        return self._is_cut

    @property
    def overdue(self) -> bool:
        """Whether its request has taken longer than it may."""
        return self.deadline is not None and time.monotonic() > self.deadline

    @property
    def ready(self) -> bool:
        """Whether it can be used again: open, and nothing has come that nobody asked for, which is no answer."""
        if self._socket is None or self._is_cut:
            return False
        with DefaultSelector() as selector:
            selector.register(self._socket, EVENT_READ)
            return not selector.select(0)

    def ask(self, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        """Send a request, and return the answer."""
        connection = self._connection or self._opened()
        self.used = True
        connection.request("POST", f"{self.endpoint.path}{path}", body=body, headers=headers)
        with connection.getresponse() as answer:
            reply = _read(answer)
            if answer.will_close or len(reply.body) > LARGEST or not HTTPStatus.OK <= reply.status < REDIRECTS:
                self.close()  # behind anything but a plain answer, more may follow
        return reply

    def cut(self) -> None:
        """Have whatever reads or writes end with an error; for another thread than the one that does."""
        with taken(self._lock):
            self._is_cut = True
            if self._socket is not None:
                with suppress(OSError):  # it is closed already
                    # that of the class below: an encrypted socket's own would go on without encryption
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        with taken(self._lock):
            own, connection, self._socket, self._connection = self._socket, self._connection, None, None
        if connection is not None:
            connection.close()
        if own is not None:
            own.close()
        self.used = False

    def _opened(self) -> HTTPConnection:
        endpoint = self.endpoint
        self._keep(socket.create_connection((endpoint.host, endpoint.port), timeout=endpoint.timeout))
        own = self._there
        if not endpoint.encrypted and not endpoint.allow_http and not is_loopback(own.getpeername()[0]):
            raise ElsewhereError
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = HTTPConnection(endpoint.host, endpoint.port)
        if endpoint.encrypted:
            context = ssl.create_default_context()  # certificates are verified
            secure = context.wrap_socket(own, server_hostname=endpoint.host, do_handshake_on_connect=False)
            self._keep(secure)
            secure.do_handshake()
            connection = HTTPSConnection(endpoint.host, endpoint.port, context=context)
        connection.sock, connection.auto_open = self._there, 0  # it is never to open a connection by itself
        self._connection = connection
        return connection

    @property
    def _there(self) -> socket.socket:
        if self._socket is None or self._is_cut:
            raise ConnectionAbortedError("the connection was cut")
        return self._socket

    def _keep(self, own: socket.socket) -> None:
        """Keep a socket where it can be cut."""
        with taken(self._lock):
            self._socket = own
        _ = self._there  # it may have been cut while there was nothing to cut


def _read(answer: HTTPResponse) -> Reply:
    body = answer.read(LARGEST + 1)
    if len(body) <= LARGEST and answer.length:
        raise IncompleteRead(body, answer.length)
    whole = answer.chunked or answer.getheader("Content-Length") is not None
    return Reply(answer.status, body, bool(whole), answer.getheader("Retry-After"))
