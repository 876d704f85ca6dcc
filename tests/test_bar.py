"""Progress bars: they appear by the clock, say how far work has come, and leave the terminal as it was."""

import io
import time
from contextlib import redirect_stderr

import pytest

import quick
from whylight.core import progress
from whylight.explaining import bar
from whylight.training.progress import trial_bar


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


def test_without_a_terminal_a_line_is_written_every_minute_and_no_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bar, "MINUTE", 0.05)
    with bar.progress_bar(3, shown=True) as step:
        step("lime")
        step("marc")
        progress.expect(10)
        progress.advance(4)
        progress.tell("loss", 0.5)
        time.sleep(0.3)
        said = capsys.readouterr().err
    lines = said.splitlines()
    assert 2 <= len(lines) <= 6
    assert lines[-1].startswith("whylight: marc: 2 of 3, 4 steps, loss 0.5; 0.")
    assert "\r" not in said
    assert "\x1b" not in said
    time.sleep(0.1)
    capsys.readouterr()  # a line that was on its way when the work ended
    time.sleep(0.2)
    assert not capsys.readouterr().err  # it ends with the work


def test_short_work_without_a_terminal_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    for shown in (True, False):
        with bar.progress_bar(1, shown=shown) as step:
            step("lime")
            progress.advance(1)
    assert capsys.readouterr().err == ""


def test_trials_without_a_terminal_are_a_line_every_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with trial_bar(5, shown=True) as moved:
        moved(0.5)
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(bar, "MINUTE", 0.0)
        moved(1.5)
        assert capsys.readouterr().err == "whylight: trial 2 of 5.\n"
    with trial_bar(5, shown=False) as moved:
        moved(3.0)
    assert capsys.readouterr().err == ""
