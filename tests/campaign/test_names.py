"""A short form of the campaign of hostile names: nothing gets through, and what does would be seen."""

from typing import Any

import names
import pytest

SCALE = 0.06


def test_no_name_steers_the_terminal() -> None:
    found = names.campaign(SCALE, 0)
    assert found.tried["commands"] >= 40
    assert found.violations == []


def test_the_whole_campaign_has_its_size() -> None:
    assert len(names.NAMES) * (len(names.OPTIONS) + sum(map(len, names.ON_DATA.values()))) >= 60


@pytest.mark.parametrize(
    ("fault", "seen"),
    [("escape", "raw 0x1b"), ("bidi", "raw 0x202e"), ("lines", "faked line"), ("conceal", "a colour that is not ours")],
)
def test_a_name_that_gets_through_is_seen(monkeypatch: pytest.MonkeyPatch, fault: str, seen: str) -> None:
    for name in ("clean", "one_line"):
        monkeypatch.setattr(f"whylight.facade.console.{name}", lambda text: text)
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
