"""Listening: one socket, one process, no log of what reviewers look at."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn

from whylight.core.errors import InputError

WAITING = 2048
"""Connections that may wait to be taken."""
GRACE = 3
"""Seconds that open connections have to end when the server stops."""


@contextmanager
def opened(host: str, port: int) -> Iterator[socket.socket]:
    """Open the socket, or say why it cannot be."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as place:
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            place.bind((host, port))
            place.listen(WAITING)  # whoever comes before the server is ready waits, and is not refused
        except OSError as error:
            raise InputError(f"cannot listen on {host}, port {port}: {error.strerror or error}.") from None
        yield place


class _Server(uvicorn.Server):
    """Says that it was asked to end before it waits for those who are still connected."""

    def __init__(self, config: uvicorn.Config, stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._stop = stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End."""
        self._stop()
        super().handle_exit(sig, frame)


def listen(app: Any, place: socket.socket, *, stop: Callable[[], None]) -> None:  # noqa: ANN401  any ASGI application
    """Answer requests until Ctrl-C.

    Args:
        app: What answers.
        place: Where requests come in.
        stop: Called when Ctrl-C was pressed, before open connections are waited for.
    """
    config = uvicorn.Config(
        app,
        backlog=WAITING,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
        ws="none",
    )
    _Server(config, stop).run(sockets=[place])
