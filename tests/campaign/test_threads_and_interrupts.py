"""The short form of two parts, and that they would see what they look for."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import interrupts
import pytest
import signals
import threads
from transformers.utils import logging

import tiny
from whylight.core import interruption
from whylight.models import token_network, unchanged
from whylight.models.holding import held
from whylight.models.quiet import quiet
from whylight.models.reading import loading


@pytest.fixture
def own_handler() -> Iterator[None]:
    """Interrupts raise, whatever started the tests; and the handler is the same afterwards."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


@contextmanager
def _nothing(*_args: object) -> Iterator[None]:
    yield


def test_threads_give_what_one_gives() -> None:
    outcome = threads.campaign(0.1, 0)
    assert outcome.violations == []
    assert outcome.tried["explanations"] >= 8 * 7


@pytest.mark.slow
def test_threads_without_a_lock_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unchanged, "held", _nothing)
    monkeypatch.setattr(token_network, "held", _nothing)
    assert threads.campaign(0.1, 0).violations


def test_interrupts_leave_no_trace() -> None:
    outcome = interrupts.campaign(0.04, 0)
    assert outcome.violations == []
    assert outcome.tried["in the middle of the work"] >= 25


def test_interrupts_that_do_not_wait_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interruption, "_in_main_thread", lambda: False)
    assert interrupts.campaign(0.03, 0).violations


def test_signals_leave_no_trace() -> None:
    outcome = signals.campaign(0.02, 0)
    assert outcome.violations == []
    assert outcome.tried["in the middle of the work"] >= 50


def test_signals_after_which_the_handler_stays_another_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    @contextmanager
    def careless() -> Iterator[None]:
        before = signal.signal(signal.SIGINT, interrupted)
        yield
        signal.signal(signal.SIGINT, before)

    monkeypatch.setattr(signals, "quiet", careless)
    assert any("handler" in one for one in signals.campaign(0.02, 0).violations)


@pytest.mark.usefixtures("own_handler")
@pytest.mark.parametrize("work", [held, lambda _: quiet(), lambda _: loading("a")])
def test_no_lock_stays_taken_whenever_the_interrupt_comes(work: Callable[[object], Any]) -> None:
    """Every line of ours is tried, and every return and exception."""
    model = tiny.model("bert")

    def begun(moments: interrupts.Moments) -> bool:
        sys.settrace(moments)
        try:
            with work(model):
                pass
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
        return False

    every, before, stopped = interrupts.Moments(), logging.get_verbosity(), 0
    assert not begun(every)
    for moment in range(1, every.seen + 1):
        stopped += begun(interrupts.Moments(moment))
        assert logging.get_verbosity() == before  # loggers that were silenced are put back
        other = Thread(target=begun, args=(interrupts.Moments(),), daemon=True)  # a lock may be free for its own thread
        other.start()
        other.join(10)
        assert not other.is_alive()
    assert stopped > every.seen / 2
