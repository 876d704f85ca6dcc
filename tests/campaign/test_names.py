"""A short form of the campaign of hostile names: nothing gets through, and what does would be seen."""

from pathlib import Path
from typing import Any

import names
import pytest

from whylight.cli.main import app

SCALE = 0.035


def test_no_name_steers_the_terminal() -> None:
    found = names.campaign(SCALE, 0)
    assert found.tried["commands"] >= 25
    assert found.violations == []


def test_every_command_is_tried_with_every_name(tmp_path: Path) -> None:
    commands = {one.name or one.callback.__name__ for one in app.registered_commands if one.callback}
    some, every = (names.choose(scale, 0, str(tmp_path)) for scale in (SCALE, 1.0))
    assert commands <= {command.arguments[0] for _, command in some}
    assert {(name, word) for name in names.NAMES for word in commands} <= {(n, c.arguments[0]) for n, c in every}
    assert len(every) >= 600


@pytest.mark.parametrize(
    ("fault", "seen"),
    [("escape", "raw 0x1b"), ("bidi", "raw 0x202e"), ("lines", "faked line"), ("conceal", "a colour that is not ours")],
)
def test_a_name_that_gets_through_is_seen(monkeypatch: pytest.MonkeyPatch, fault: str, seen: str) -> None:
    for name in ("clean", "one_line"):
        monkeypatch.setattr(f"whylight.explaining.console.{name}", lambda text: text)
    found = names.problems(names.Command(("explain", "a film", "--method", names.NAMES[fault])))
    assert any(seen in one for one in found)


def test_markup_that_is_interpreted_and_a_traceback_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    import rich.console  # noqa: PLC0415

    command = names.Command(("methods",))
    assert names.problems(command) == []

    def marked() -> None:
        rich.console.Console().print(names.NAMES["markup"].replace("[/]", ""))

    def broken() -> Any:
        raise RuntimeError

    for planted, seen in ((marked, "markup was interpreted"), (broken, "traceback")):
        monkeypatch.setattr("names.run", planted)
        assert seen in names.problems(command)
