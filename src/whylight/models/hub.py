"""The hub, where there is no way to it: asked once whether it can be found, instead of five times for each file.

Its library waits and asks again whenever a connection fails. Without a network, a mistyped folder took two minutes and
forty lines to be refused, and a model that was downloaded long ago as long to be opened. So where the name of the hub's
host cannot even be looked up, its files are those that are on this machine. Who reaches the hub by another way (a
proxy, a client of one's own) looks names up there, and is left alone.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

from huggingface_hub import constants
from huggingface_hub.utils import _http

from whylight.core.interruption import at_once
from whylight.models.shared_change import Restore, SharedChange

_PROXIES = {"http", "https", "all"}


@contextmanager
def without_waiting(path: object) -> Iterator[None]:
    """Look for a model of the hub on this machine alone, inside the block, if the hub cannot be found.

    All threads share the library's flag.

    Args:
        path: What the user named; a folder that is there has nothing to do with the hub, and nobody is asked.
    """
    known = _OFFLINE.holds  # somebody found out already
    if _is_here(path) or (not known and (constants.HF_HUB_OFFLINE or _is_found())):
        yield
        return
    with _OFFLINE.held(), at_once():
        yield


def _go_offline() -> list[Restore]:
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    return [lambda: setattr(constants, "HF_HUB_OFFLINE", before)]


_OFFLINE = SharedChange(_go_offline)


def _is_here(path: object) -> bool:
    try:
        return not isinstance(path, str) or Path(path).exists()
    except (OSError, ValueError):
        return True


def _is_found() -> bool:
    """Say whether the name of the hub's host can be looked up, or whether that is somebody else's matter."""
    if getproxies().keys() & _PROXIES or _has_own_client():
        return True
    address = urlsplit(constants.ENDPOINT)
    for again in (True, False):
        try:
            socket.getaddrinfo(address.hostname, address.port or 443)
        except OSError as error:
            if not (again and error.errno == socket.EAI_AGAIN):  # a look-up that failed for the moment
                return False
        else:
            return True
    return False


def _has_own_client() -> bool:
    """Say whether the user gave the library a client (`set_client_factory`), which it has no question for."""
    usual = getattr(_http, "default_client_factory", None)
    return getattr(_http, "_GLOBAL_CLIENT_FACTORY", usual) is not usual
