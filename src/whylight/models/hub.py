"""The hub, where there is no way to it: asked once whether it can be found, instead of five times for each file.

Its library waits and asks again whenever a connection fails. Without a network, a mistyped folder took two minutes and
forty lines to be refused, and a model that was downloaded long ago as long to be opened. So where the name of the hub's
host cannot even be looked up, its files are those that are on this machine.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

from huggingface_hub import constants


@contextmanager
def without_waiting(path: object) -> Iterator[None]:
    """Look for a model of the hub on this machine alone, inside the block, if the hub cannot be found.

    Args:
        path: What the user named; a folder that is there has nothing to do with the hub, and nobody is asked.
    """
    if constants.HF_HUB_OFFLINE or _is_here(path) or _is_found():
        yield
        return
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = False


def _is_here(path: object) -> bool:
    try:
        return not isinstance(path, str) or Path(path).exists()
    except (OSError, ValueError):
        return True


def _is_found() -> bool:
    """Say whether the name of the hub's host can be looked up; behind a proxy, that is the proxy's matter."""
    if getproxies():
        return True
    address = urlsplit(constants.ENDPOINT)
    try:
        socket.getaddrinfo(address.hostname, address.port or 443)
    except OSError:
        return False
    return True
