"""The engine of a cluster: an actor of Ray for each worker. Ray finds places for them; the files are ours.

Actors are never restarted by Ray (`max_restarts=0`), since an order that kills its process would do so for ever:
whoever hands out orders counts deaths, and asks for another actor. One call is one order; a receipt comes back.

Ray is imported only here. A local cluster has no dashboard. The folder must be one that all machines see.
"""

import logging
import os
import sys
import tempfile
from collections.abc import Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import count as counting
from typing import IO, Any

from whylight.core.errors import InputError, SettingError
from whylight.core.interruption import postponed
from whylight.engines.engine import Died, Event, Opening, Raised, Ready, Served, event_of

OLDEST = (2, 52)
"""Earlier versions let any web page run code on a cluster (CVE-2025-62593)."""
ANSWER = 10.0
"""Seconds in which a cluster must answer."""
ERRORS = 2
"""The file of the system that is standard error."""
NODE_DIED = "its node has died"
"""What Ray says of an actor that was lost with its machine; of processes that died it speaks of nodes, too."""
UNKNOWN = b"InvalidAuthToken"
"""What Ray's own core calls it if it does not know who asks."""
REASON = 200
"""Characters of Ray's complaint that are repeated."""


class Ray:
    """Workers on a Ray cluster.

    Args:
        opening: Makes each of them.
        address: The cluster: `auto` for one that runs on this machine, or `HOST:PORT`; None starts one here.
    """

    def __init__(self, opening: Opening, address: str | None) -> None:
        self._ray = check(address)
        self._opening, self._address = opening, address
        self._connected = self._ours = False
        self._names = counting()
        self._actors: dict[Hashable, Any] = {}
        self._calls: dict[Hashable, Any] = {}
        self._open: set[Hashable] = set()

    def start(self, count: int) -> Sequence[Hashable]:
        """Ask for so many actors of one CPU each."""
        if not self._connected:
            self._connect(count)
        made = self._ray.remote(Served).options(num_cpus=1, max_restarts=0, max_task_retries=0)
        names = [next(self._names) for _ in range(count)]
        for name in names:
            self._actors[name] = made.remote(self._opening)
            self._calls[name] = self._actors[name].ready.remote()
        return names

    def _connect(self, workers: int) -> None:
        """Connect to the cluster, or start one; an interrupt waits for that, which may hang where it is interrupted."""
        with postponed():
            self._ours = not self._ray.is_initialized()
            if self._ours:
                _connect(self._ray, self._address)
            self._connected = True
        cpus = int(self._ray.cluster_resources().get("CPU", 0))
        if workers > cpus:
            raise SettingError(f"the Ray cluster has {cpus} CPUs, and {workers} workers need one each; ask for fewer.")
        self._opening = self._ray.put(self._opening)

    def send(self, worker: Hashable, order: Any) -> None:  # noqa: ANN401  whatever the workers do
        """Call an actor."""
        self._calls[worker] = self._actors[worker].work.remote(order)

    def wait(self, workers: Collection[Hashable], *, seconds: float) -> list[Event]:
        """Wait for calls that are done, or whose actor has died."""
        calls = {self._calls[name]: name for name in workers}
        try:
            done, _ = self._ray.wait(list(calls), num_returns=1, timeout=seconds)
        except (self._ray.exceptions.RayError, ConnectionError) as error:
            raise InputError(f"the Ray cluster is gone ({_first_line(error)}); the same call resumes.") from None
        return [self._event(calls[call], call) for call in done]

    def _event(self, name: Hashable, call: Any) -> Event:  # noqa: ANN401  a library without types
        lost = self._ray.exceptions
        try:
            event = event_of(name, self._ray.get(call))
        except lost.RayActorError as error:
            gone = isinstance(error, lost.ActorUnavailableError)  # nobody hears from it; perhaps it works on
            with suppress(lost.RayError):
                self._ray.kill(self._actors.pop(name), no_restart=True)
            return Died(name, opened=name in self._open, of_node=gone or NODE_DIED in str(error))
        except lost.RayError as error:
            return Raised(name, InputError(f"a worker on the Ray cluster gave no answer ({_first_line(error)})."))
        self._open.update({name} if isinstance(event, Ready) else ())
        return event

    def stop(self, *, kindly: bool) -> None:  # noqa: ARG002  what is written every few seconds is kept
        """End all actors, and the cluster if it is ours."""
        for actor in self._actors.values():
            with suppress(self._ray.exceptions.RayError):  # the cluster is gone
                self._ray.kill(actor, no_restart=True)
        if self._ours:
            with postponed():
                self._ray.shutdown()


def check(address: str | None) -> Any:  # noqa: ANN401  a library without types
    """Return Ray, after a look at what can be known without starting it.

    Raises:
        InputError: It is not installed, or too old.
        SettingError: Nobody answers at the address.
    """
    ray = _imported()
    if address is not None:
        with _said(address):
            _check_address(address)
    return ray


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:REASON].rstrip(".") or type(error).__name__


def _imported() -> Any:  # noqa: ANN401  a library without types
    try:
        ray = import_module("ray")
    except ImportError:
        raise InputError(
            "the engine 'ray' needs Ray, which is not installed: pip install 'whylight[ray]', or leave out --engine."
        ) from None
    version = tuple(int(one) for one in ray.__version__.split(".")[:2])
    if version < OLDEST:
        raise InputError(f"Ray {ray.__version__} is not safe to use; update it: pip install 'ray>=2.52'.")
    return ray


def _connect(ray: Any, address: str | None) -> None:  # noqa: ANN401
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address is None:
        with _said(None):
            ray.init(include_dashboard=False, **quiet)
        return
    with tempfile.TemporaryFile() as complaints:
        try:
            with _said(address), _into(complaints):
                ray.init(address=address, **quiet)
        except SettingError:
            complaints.seek(0)
            if UNKNOWN in complaints.read():
                raise SettingError(
                    f"the Ray cluster at '{address}' asks for its token: set the environment variables "
                    "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN, or put the token into ~/.ray/auth_token."
                ) from None
            raise


@contextmanager
def _into(file: IO[bytes]) -> Iterator[None]:
    """Write into a file, and not to the terminal, what Ray's own core complains of while nobody answers."""
    sys.stderr.flush()
    before = os.dup(ERRORS)
    os.dup2(file.fileno(), ERRORS)
    try:
        yield
    finally:
        os.dup2(before, ERRORS)
        os.close(before)


@contextmanager
def _said(address: str | None) -> Iterator[None]:
    try:
        yield
    except (ConnectionError, OSError, RuntimeError, ValueError, TimeoutError) as error:
        reason = " ".join(str(error).split())[:REASON].rstrip(".")
        raise SettingError(
            f"no Ray cluster answers at '{address or 'this machine'}' ({reason}); start one with `ray start --head`, "
            "or leave out --address."
        ) from None


def _check_address(address: str) -> None:
    """See whether anybody answers at an address: Ray itself would wait for minutes."""
    import socket  # noqa: PLC0415

    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError("an address is HOST:PORT, or auto for a cluster of this machine")
    socket.create_connection((host, int(port)), timeout=ANSWER).close()
