"""The short form of two parts, and that they would see what they look for."""

from collections.abc import Iterator
from contextlib import contextmanager

import interrupts
import pytest
import threads

from whylight.core import interruption
from whylight.models import token_network, unchanged


@contextmanager
def _nothing(*_args: object) -> Iterator[None]:
    yield


def test_threads_give_what_one_gives() -> None:
    outcome = threads.campaign(0.1, 0)
    assert outcome.violations == []
    assert outcome.tried["explanations"] >= 8 * 10


def test_threads_without_a_lock_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unchanged, "held", _nothing)
    monkeypatch.setattr(token_network, "held", _nothing)
    assert threads.campaign(0.1, 0).violations


def test_interrupts_leave_no_trace() -> None:
    outcome = interrupts.campaign(0.06, 0)
    assert outcome.violations == []
    assert outcome.tried["in the middle of the work"] >= 40


def test_interrupts_that_do_not_wait_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interruption, "_in_main_thread", lambda: False)
    assert interrupts.campaign(0.2, 0).violations
