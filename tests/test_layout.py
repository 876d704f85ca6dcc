"""Tables fit their terminal, and no name in them is cut."""

import io
from typing import Any

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len

from whylight.explaining.console import Console, broken_at_blanks, say
from whylight.report.layout import Cells, Column, table_lines

NAMES = ["lime", "sequential_integrated_gradients", "integrated_gradients[steps=20,baseline=mask]@12", "漢字"]
CELLS = st.one_of(
    st.sampled_from([*NAMES, "0.123 [0.100, 0.150]", "samples=500, alpha=1.0, sampler=uniform", "-", ""]),
    st.lists(st.sampled_from(["a", "word", "of", "normalised_aopc_comprehensiveness"]), max_size=12).map(" ".join),
)
KINDS = st.sampled_from(["figure", "words"])


def words(text: str) -> list[str]:
    return text.split()


@st.composite
def tables(draw: Any) -> tuple[list[Column], list[Cells]]:
    keys = draw(st.integers(1, 3))
    kinds = ["key"] * keys + draw(st.lists(KINDS, min_size=1, max_size=6))
    columns = [Column(f"{kind}_{number} ↑", kind) for number, kind in enumerate(kinds)]
    row = st.tuples(*(CELLS for _ in columns))
    return columns, draw(st.lists(row, min_size=1, max_size=4))


@given(table=tables(), width=st.sampled_from([40, 80, 200]), grouped=st.booleans())
def test_every_word_is_whole_and_lines_fit(table: Any, width: int, grouped: bool) -> None:  # noqa: FBT001
    columns, rows = table
    lines = [line.plain for line in table_lines(columns, rows, width=width, title="A run", grouped=grouped)]
    there = set(" ".join(lines).replace(":", " ").replace(",", " ").split())
    keys = sum(one.kind == "key" for one in columns)
    for row in rows:
        kept = row[keys - 1 :] if grouped else row
        assert {one for cell in kept for one in words(cell.replace(",", " "))} <= there
    assert all(word in there for one in columns[keys:] for word in words(one.name))
    too_long = [line for line in lines if cell_len(line) > width]
    assert all(len(words(line)) == 1 for line in too_long)
    assert not [line for line in lines if line != line.rstrip()]


@given(table=tables())
def test_figures_are_never_broken(table: Any) -> None:
    columns, rows = table
    lines = [line.plain for line in table_lines(columns, rows, width=80)]
    figures = [cell for row in rows for one, cell in zip(columns, row, strict=True) if one.kind == "figure"]
    turned = any(line.startswith("  ") and ": " in line for line in lines)
    assert turned or all(any(" ".join(cell.split()) in line for line in lines) for cell in figures)


def drawn(*rows: Cells, names: str, width: int, **options: Any) -> list[str]:
    first, *others = names.split()
    columns = [Column(first, "key"), *map(Column, others)]
    return [line.plain for line in table_lines(columns, rows, width=width, **options)]


def test_a_table_that_fits_is_one_table() -> None:
    assert drawn(("lime", "0.1", "0.25"), ("occlusion", "0.3", "-"), names="method iou auprc", width=40) == [
        "method     iou  auprc",
        "lime       0.1   0.25",
        "occlusion  0.3      -",
    ]


def test_figures_that_do_not_fit_stand_below_with_their_keys() -> None:
    assert drawn(("lime", "0.1", "0.25"), names="method precision recall", width=17) == [
        "method  precision",
        "lime          0.1",
        "",
        "method  recall",
        "lime      0.25",
    ]


def test_what_does_not_fit_at_all_is_turned() -> None:
    name = "integrated_gradients[steps=20]"
    assert drawn((name, "0.1", "0.2"), names="method precision recall", width=30, title="A run") == [
        "A run",
        name,
        "  precision: 0.1",
        "  recall: 0.2",
    ]


def test_keys_that_repeat_are_left_blank_but_for_the_last() -> None:
    columns = [Column("level", "key"), Column("method", "key"), Column("change")]
    rows = [("head", "lime", "1"), ("head", "lime", "2"), ("top", "lime", "3")]
    lines = [line.plain for line in table_lines(columns, rows, width=80, grouped=True)]
    assert lines == ["level  method  change", "head   lime         1", "       lime         2", "top    lime         3"]


def test_words_take_the_room_that_figures_leave() -> None:
    columns = [Column("name", "key"), Column("says", "words"), Column("n")]
    wide = table_lines(columns, [("a", "one two three four five six seven", "1")], width=45)
    assert [line.plain for line in wide] == [
        "name  says                               n",
        "a     one two three four five six seven  1",
    ]
    narrow = table_lines(columns, [("a", "one two three four five six seven", "1")], width=36)
    assert [line.plain for line in narrow][1:] == ["a     one two three four five six  1", "      seven"]


def test_a_word_longer_than_the_line_is_a_longer_line() -> None:
    assert broken_at_blanks("a " + "x" * 20 + " b", 10) == ["a", "x" * 20, "b"]


@pytest.mark.parametrize(("columns", "expected"), [("40", 80), ("80", 80), ("133", 133), (None, 80)])
def test_a_pipe_has_eighty_places_at_least(columns: str | None, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert Console(file=io.StringIO()).width == expected
    assert Console(file=io.StringIO(), width=30).width == 30  # who names a width gets it


def test_a_terminal_keeps_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "40")
    assert Console(file=Screen()).width == 40


def test_a_sentence_breaks_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    name = "runs/" + "long_" * 30
    say(f"the best is in {name} now")
    assert name in capsys.readouterr().out
    say("one two " * 30)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
