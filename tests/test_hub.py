"""Without a way to the hub, nobody waits for it, and nobody is asked for what is here."""

import socket
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from httpx2 import Client
from huggingface_hub import constants, set_client_factory
from huggingface_hub.utils import logging
from huggingface_hub.utils._http import default_client_factory

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


def test_threads_share_the_flag_and_the_last_puts_it_back(asked: list[Any]) -> None:
    first, second = without_waiting("some-model"), without_waiting("other-model")
    first.__enter__()
    thread = Thread(target=second.__enter__)
    thread.start()
    thread.join()
    first.__exit__(None, None, None)
    assert constants.HF_HUB_OFFLINE  # the second is still at work
    second.__exit__(None, None, None)
    assert not constants.HF_HUB_OFFLINE
    assert asked == ["huggingface.co"]


def test_who_has_another_way_to_the_hub_is_left_alone(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whylight.models.hub.getproxies", lambda: {"no": "localhost"})  # that is no proxy
    with without_waiting("some-model"):
        assert constants.HF_HUB_OFFLINE
    assert asked.pop() == "huggingface.co"
    set_client_factory(Client)
    try:
        with without_waiting("some-model"):
            assert not constants.HF_HUB_OFFLINE
    finally:
        set_client_factory(default_client_factory)
    assert asked == []


def test_a_look_up_that_failed_for_the_moment_is_tried_again(monkeypatch: pytest.MonkeyPatch, asked: list[Any]) -> None:
    answers = [socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), None]

    def lookup(*_: object, **__: object) -> None:
        if (answer := answers.pop(0)) is not None:
            raise answer

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    with without_waiting("some-model"):
        assert not constants.HF_HUB_OFFLINE
    assert (answers, asked) == ([], [])


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
