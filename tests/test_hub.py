"""Without a way to the hub, nobody waits for it, and nobody is asked for what is here."""

import socket
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import logging

from whylight.core.errors import ModelError
from whylight.models.hub import without_waiting
from whylight.models.load import load
from whylight.models.quiet import quiet


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Which hosts are looked up, none of which is found."""
    hosts: list[Any] = []

    def lookup(host: str, *_: object, **__: object) -> None:
        hosts.append(host)
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("whylight.models.hub.getproxies", dict)
    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    return hosts


def test_a_hub_that_cannot_be_found_is_not_asked(asked: list[Any], capfd: pytest.CaptureFixture[str]) -> None:
    with without_waiting("some-model"):
        assert constants.HF_HUB_OFFLINE
        with without_waiting("some-model"):
            assert constants.HF_HUB_OFFLINE
        assert constants.HF_HUB_OFFLINE
    assert not constants.HF_HUB_OFFLINE
    assert asked == ["huggingface.co"]
    with pytest.raises(ModelError, match="no folder 'no-such-model'"):
        load("no-such-model")
    assert set(asked) == {"huggingface.co"}
    assert "Retrying" not in capfd.readouterr().err


def test_what_is_here_has_nothing_to_do_with_the_hub(asked: list[Any], tmp_path: Path) -> None:
    for path in (str(tmp_path), tmp_path, tmp_path / "other", None):
        with without_waiting(path):
            assert not constants.HF_HUB_OFFLINE
    assert asked == []


def test_a_hub_that_is_found_is_asked(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: [])
    with without_waiting("some-model"):
        assert not constants.HF_HUB_OFFLINE
    monkeypatch.setattr("whylight.models.hub.getproxies", lambda: {"https": "http://proxy"})
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: pytest.fail("the proxy looks names up"))
    with without_waiting("some-model"):
        assert not constants.HF_HUB_OFFLINE
    assert asked == []


def test_the_hubs_own_warnings_are_kept_quiet_and_put_back() -> None:
    before = logging.get_verbosity()
    with quiet():
        assert logging.get_verbosity() == logging.CRITICAL
    assert logging.get_verbosity() == before
