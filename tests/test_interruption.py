"""Ctrl-C: heard at a safe moment, and the model is as it was, whenever it comes."""

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import product

import pytest

import quick
import tiny
from whylight.core.interruption import at_once, checkpoint, postponed
from whylight.models.holding import held
from whylight.models.load import load

METHODS = ("attingrad", "integrated_gradients", "lime", "decompx_linear", "deeplift", "alti")


@pytest.fixture(autouse=True)
def own_handler() -> Iterator[None]:
    """Interrupts raise, whatever started the tests; and the handler is the same afterwards."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def test_an_interrupt_waits_for_the_end_of_the_block() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012  what happens inside is the point
        with postponed():
            interrupt()
            done.append("work")
        done.append("never")
    assert done == ["work"]


def test_an_interrupt_is_heard_at_a_checkpoint_and_clean_ups_are_not_disturbed() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), postponed():  # noqa: PT012  what happens inside is the point
        try:
            interrupt()
            checkpoint()
            done.append("never")
        finally:
            interrupt()
            done.append("cleaned up")
    assert done == ["cleaned up"]


def test_a_block_within_a_block_waits_for_the_outer_one() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), postponed():  # noqa: PT012  what happens inside is the point
        with postponed():
            interrupt()
        done.append("outer")
    assert done == ["outer"]


def test_own_code_is_interrupted_at_once() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), postponed():  # noqa: PT012  what happens inside is the point
        try:
            with at_once():
                interrupt()
                done.append("never")
        finally:
            interrupt()
            done.append("cleaned up")
    assert done == ["cleaned up"]


def test_what_own_code_asks_to_wait_for_is_waited_for() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), postponed(), at_once():  # noqa: PT012  as above
        with postponed():
            interrupt()
            done.append("work")
        done.append("never")
    assert done == ["work"]
    with pytest.raises(KeyboardInterrupt), postponed(), at_once():  # and the state is that of the beginning
        interrupt()


def test_a_block_that_is_left_long_afterwards_changes_nothing() -> None:
    """Python closes what was interrupted while it was entered when its traceback goes, at any time."""

    def interrupted() -> Iterator[None]:
        with postponed(), at_once():
            yield

    for begun, ended in product((postponed, nullcontext), repeat=2):
        late = interrupted()
        with begun():
            next(late)
        with ended():
            late.close()
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        with pytest.raises(KeyboardInterrupt), postponed():  # noqa: PT012  an interrupt waits, and is heard
            interrupt()
            checkpoint()


def test_a_handler_of_ones_own_is_the_one_that_hears() -> None:
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _frame: heard.append(number))
    with postponed():
        interrupt()
        assert heard == []
    assert heard == [signal.SIGINT]
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_ignored_interrupts_stay_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with postponed():
        interrupt()
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is signal.SIG_IGN


def test_waiting_for_a_model_can_be_interrupted() -> None:
    model = tiny.model("bert")
    holding, release = threading.Event(), threading.Event()

    def hold() -> None:
        with held(model):
            holding.set()
            release.wait(20)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(hold)
        holding.wait(20)
        threading.Timer(0.2, interrupt_main).start()
        started = time.monotonic()
        try:
            with pytest.raises(KeyboardInterrupt), held(model):
                pass
        finally:
            release.set()
    assert time.monotonic() - started < 10


def interrupt_main() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def interrupted_after(seconds: float, work: Callable[[], object]) -> bool:
    """Run work that is interrupted once; say whether it was before its end."""
    timer = threading.Timer(seconds, interrupt_main)
    try:
        timer.start()
        work()
        timer.join()
        time.sleep(0.01)  # where the interrupt is heard that came after the work
    except KeyboardInterrupt:
        return True
    finally:
        timer.join()
    return False


@pytest.mark.parametrize("architecture", ["bert", "plm_ca", "llama"])
def test_a_model_is_left_as_it_was_whenever_the_interrupt_comes(architecture: str) -> None:
    model = tiny.model(architecture).train()
    next(iter(model.parameters())).requires_grad_(requires_grad=False)
    clf = load(model, tiny.tokenizer(tiny.style_of(architecture)))
    chance = random.Random(0)  # noqa: S311  moments, not secrets
    methods = [name for name in METHODS if architecture != "llama" or name != "alti"]
    for method in methods:  # a first call makes what is made once
        quick.run(clf, quick.TEXT, method)
    before = quick.snapshot(model)
    stopped = 0
    for number in range(60):
        method = methods[number % len(methods)]
        wait = chance.random() * 0.03
        stopped += interrupted_after(wait, lambda method=method: quick.run(clf, quick.TEXT, method, target="all"))  # type: ignore[misc]
        after = quick.snapshot(model)
        assert {name for name in before if before[name] != after[name]} == set(), (method, number)
    assert stopped >= 10


def test_a_slow_callable_is_interrupted_within_its_own_call() -> None:
    def slow(texts: list[str]) -> list[list[float]]:
        time.sleep(5)
        return [[0.5, 0.5]] * len(texts)

    clf = load(slow, labels=["a", "b"])
    started = time.monotonic()
    assert interrupted_after(0.3, lambda: quick.run(clf, "a b c", "occlusion"))
    assert time.monotonic() - started < 4
