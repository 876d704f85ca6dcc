"""Progress bars: they appear by the clock, say how far work has come, and leave the terminal as it was."""

import io
import time
from contextlib import redirect_stderr

import pytest

import quick
from whylight.core import progress
from whylight.explaining import bar


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(bar, "PATIENCE", 0.1)
    return Screen()


def test_a_bar_appears_even_while_a_single_step_takes_long(screen: Screen) -> None:
    with redirect_stderr(screen), bar.progress_bar(1, shown=True) as step:
        step("decompx")
        time.sleep(0.5)
        assert "decompx" in screen.getvalue()
    shown = screen.getvalue()
    time.sleep(0.3)
    assert screen.getvalue() == shown


def test_what_is_done_in_time_shows_nothing(screen: Screen) -> None:
    with redirect_stderr(screen), bar.progress_bar(1, shown=True) as step:
        step("random")
    time.sleep(0.3)
    assert not screen.getvalue()


def test_a_method_that_searches_shows_how_good_it_has_become(screen: Screen) -> None:
    with redirect_stderr(screen), bar.progress_bar(2, shown=True) as step:
        step("marc")
        progress.tell("loss", -2.3456)
        time.sleep(0.5)
        assert "loss -2.346" in screen.getvalue()
        before = len(screen.getvalue())
        step("lime")
        time.sleep(0.3)
        assert "loss" not in screen.getvalue()[before:].rsplit("lime", maxsplit=1)[-1]


@pytest.mark.parametrize("method", ["marc", "aml"])
def test_a_loss_is_shown_for_every_step(method: str) -> None:
    clf, shown = quick.classifier("bert", num_labels=3), list[str]()
    with progress.telling(shown.append):
        quick.run(clf, quick.TEXT, method, steps=3, rate=0.05)
    assert len(shown) == 3
    assert len({float(one.removeprefix("loss ")) for one in shown}) > 1


@pytest.mark.parametrize("method", ["alti", "decompx"])
def test_decompositions_say_how_many_layers_are_done(method: str) -> None:
    class Heard:
        expected = done = 0

        def expect(self, steps: int) -> None:
            self.expected += steps

        def advance(self, steps: int) -> None:
            self.done += steps

    clf, heard = quick.classifier("bert"), Heard()
    with progress.listening(heard):
        quick.run(clf, quick.TEXT, method)
    assert heard.done == heard.expected >= clf.n_layers
