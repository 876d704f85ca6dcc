"""Nothing that a user, a file or a model says can steer the terminal, and nothing prints past the one door."""

import ast
import io
import json
import re
import sys
import time
import unicodedata
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from rich.table import Table
from rich.text import Text

import whylight
from whylight.cli.tables import TableFormat, print_records
from whylight.core.printable import clean, one_line, to_json
from whylight.explaining import bar, console

SOURCES = Path(whylight.__file__).parent
DOOR = SOURCES / "explaining" / "console.py"
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
EVIL = "\x1b[2J\x1b]0;owned\x07 \x9b8m \r\u202e\u2028 [red]mark[/red] :smile: \ud800\x00\x7f"


def steers(text: str) -> set[str]:
    """Return the characters of a text that can steer a terminal, by Unicode's own tables."""
    return {c for c in text if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} or c in BIDI} - {"\n", "\t"}


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(*things: Any, **options: Any) -> str:
    file = io.StringIO()
    console.Console(file=file, width=60, **options).print(*things)
    return file.getvalue()


def forbidden(tree: ast.AST) -> list[str]:
    """Return everything in a module that prints by itself, or that makes something which does."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rich":
            found += [one.name for one in node.names if one.name in {"Console", "TextColumn", "print", "get_console"}]
        elif isinstance(node, ast.Import):
            found += [one.name for one in node.names if one.name.split(".")[0] in {"rich", "click", "warnings"}]
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in {"print", "input", "os.write", "warnings.warn"} or name.split(".")[-1] in {"echo", "secho"}:
                found.append(name)
        elif isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if re.fullmatch(r"sys\.(__)?std(out|err)(__)?\.(write|writelines|buffer)", name):
                found.append(name)
            found += [name] if node.attr in {"from_markup", "from_ansi"} else []
    return found


def test_nothing_prints_but_the_one_door() -> None:
    files = [path for path in SOURCES.rglob("*.py") if path != DOOR]
    assert len(files) > 200
    past = {str(path.relative_to(SOURCES)): forbidden(ast.parse(path.read_text(encoding="utf-8"))) for path in files}
    assert past.pop("store/files.py") == ["os.write"]  # into the files that it opens
    assert past.pop("testing/running.py") == ["warnings"]  # which it makes errors of
    assert past.pop("models/copies.py") == ["warnings"]  # those of exporters, which it keeps off the terminal
    assert past.pop("data/pictures.py") == ["warnings"]  # of sizes, which it looks at itself
    assert {path: names for path, names in past.items() if names} == {}
    assert forbidden(ast.parse(DOOR.read_text(encoding="utf-8")))  # what is looked for can be found


@pytest.mark.parametrize(
    "code",
    [
        "print(1)", "from rich.console import Console", "import rich", "typer.echo(1)", "sys.stderr.write('')",
        "from rich.progress import TextColumn", "Text.from_markup('')", "import warnings", "os.write(2, b'')",
    ],
)  # fmt: skip
def test_every_way_past_the_door_is_seen(code: str) -> None:
    assert forbidden(ast.parse(code))


def test_every_character_that_can_steer_is_replaced_and_no_other() -> None:
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        kept = clean(f"a{character}b") == f"a{character}b"
        deprecated = 0x206A <= number <= 0x206F
        assert kept != bool(steers(character) or deprecated), f"U+{number:04X}"
    assert one_line("a\nb\t c\u2028d") == "a b c d"


def test_a_string_is_neither_markup_nor_an_emoji_nor_a_command() -> None:
    table = Table(EVIL, title=EVIL)
    table.add_row(EVIL)
    for out in (printed(EVIL), printed(table), printed(Text(EVIL)), printed(EVIL, force_terminal=True)):
        assert not steers(out)
        assert out.count("mark") == out.count("[red]mark[/red]") > 0
        assert ":smile:" in out


def test_columns_stay_aligned_whatever_a_cell_holds() -> None:
    table = Table("a", "b", box=None, pad_edge=False)
    table.add_row("\x1b[2J\u202e\x00\x9b\r\n1", "x")
    table.add_row("plain", "x")
    lines = printed(table).splitlines()
    assert len(lines) == 3
    assert lines[1].index("x") == lines[2].index("x")


def test_colours_of_our_own_remain() -> None:
    assert "\x1b[1m" in printed(Text("bold", style="bold"), force_terminal=True, color_system="standard")


def test_colours_are_those_of_the_terminal_whatever_was_shown_on_another() -> None:
    orange = Text("word", style="on #ff8700")
    codes = {"truecolor": "48;2;255;135;0", "256": "48;5;208", "standard": "101"}
    for systems in (codes, reversed(codes)):
        for system in systems:
            assert f"\x1b[{codes[system]}mword" in printed(orange, force_terminal=True, color_system=system)


def test_a_message_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    console.complain(f"no label '{EVIL}\nwhylight: all is well'.")
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith("whylight: no label '")
    assert not steers(err)


def test_the_title_of_a_bar_cannot_steer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(bar, "PATIENCE", 0.0)
    screen = Screen()
    with redirect_stderr(screen), bar.progress_bar(1, shown=True) as step:
        step(EVIL)
        time.sleep(0.4)
    shown = re.sub(r"\x1b\[(\d*(;\d+)*m|\?25[lh]|\d[AK])|\r", "", screen.getvalue())  # what rich moves the cursor with
    assert "[red]mark[/red]" in shown
    assert not steers(shown)


def test_json_keeps_every_character_and_holds_none_that_steers() -> None:
    every = "".join(map(chr, [*range(0x250), *range(0x600, 0x700), *range(0x2000, 0x2100), 0xDFFF, 0xD800, 0x1F600]))
    written = to_json({every: [every, 1.5, None]})
    assert json.loads(written) == {every: [every, 1.5, None]}
    assert not steers(written)
    assert written.splitlines() == [written]
    assert "é" in written
    with pytest.raises(ValueError, match="JSON"):
        to_json(float("nan"))


def test_results_for_programs_are_cleaned_for_a_terminal_alone() -> None:
    for stream, expected in ((io.StringIO(), EVIL), (Screen(), clean(EVIL))):
        with redirect_stdout(stream):
            console.put(EVIL)
        assert stream.getvalue() == expected


def test_a_spreadsheet_computes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    record = {"method": "=cmd()", "metric": "+1", "mean": -1.5, "low": "@x", "high": "a=b"}
    print_records([record], TableFormat.csv)
    assert capsys.readouterr().out.splitlines()[1] == "'=cmd(),'+1,-1.5,'@x,a=b"
    print_records([record], TableFormat.json)
    assert json.loads(capsys.readouterr().out) == record
