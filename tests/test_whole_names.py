"""Every table that a command prints has whole names in it, at 80 columns and piped, and speaks no words of the code."""

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import whylight
from whylight.cli import main, tune
from whylight.core.registry import METHODS, METRICS, OBJECTIVES
from whylight.data.registry import CORPORA
from whylight.report.run_sheets import comparison_sheet, summary_grid
from whylight.report.sheets import Sheet, print_sheet
from whylight.report.study_sheets import DIRECTIONS, roar_sheet, sanity_sheet
from whylight.run.compare import Comparison
from whylight.run.summary import Cell, Line, Summary
from whylight.study.retrained import Retrained, Roar
from whylight.study.sanity_lines import SanityLevel, SanityLine, SanitySummary
from whylight.training.tune import TriedRecipe, Tuned

SOURCES = Path(whylight.__file__).parent
LONG = "sequential_integrated_gradients[tolerance=0.001,follow=highest]@12"
NAMES = ["lime", LONG, "attention_rollout@4", "random", "human"]
METRIC_NAMES = [f"{name} ({remover})" for name in METRICS.names() for remover in ("mask", "infill")]
CELL = Cell(-0.123, -0.234, 0.345, 1234)
INTERNAL = re.compile(r"\b(Trace|Gradient|Attributed|Soft)?(View|Game)\b|\bSpec\b|\bMarkedCorpus\b")
"""Words of the code, which say nothing to a user."""


def evaluation() -> tuple[list[str], list[str]]:
    lines = tuple(Line(name, dict.fromkeys(METRIC_NAMES, CELL), 12.5, 1000.0, 500.0) for name in NAMES)
    summary = Summary(tuple(METRIC_NAMES), dict.fromkeys(METRIC_NAMES, True), lines)
    title = f"a_long_name_of_data test, 1234 texts; faithfulness on ./{'deep/' * 9}copy"
    print_sheet(Sheet(title, (summary_grid(summary, title=title),)))
    return [*NAMES, *(word for name in METRIC_NAMES for word in name.split())], ["-0.123 [-0.234, 0.345]"]


def compared() -> tuple[list[str], list[str]]:
    found = [Comparison(name, "mask", True, CELL, 0.0123, 0.5) for name in METRICS.names()]  # noqa: FBT003
    print_sheet(comparison_sheet(found, title=f"{LONG} minus {LONG}"))
    return [LONG, *METRICS.names()], ["[-0.234, +0.345]"]


def checked() -> tuple[list[str], list[str]]:
    levels = [f"layer {number}" for number in (12, 11)]
    cells = dict.fromkeys(DIRECTIONS, CELL)
    lines = tuple(SanityLine(name, level, cells) for level in levels for name in NAMES)
    found = SanitySummary(tuple(SanityLevel(level, CELL) for level in levels), lines)
    print_sheet(sanity_sheet(found, title="planted dev"))
    return [*NAMES, *levels, *DIRECTIONS], ["-0.12 [-0.23, 0.34]"]


def retrained() -> tuple[list[str], list[str]]:
    noise = np.random.default_rng(0).random(100)
    names = [name for name in NAMES if name != "human"]
    rows = [Retrained(name, 0.1, seed, noise[seed]) for name in names for seed in range(3)]
    title = "planted, 100 of train and 20 of dev; remover delete; 3 seeds"
    print_sheet(roar_sheet(Roar(tuple(rows)), title=title))
    return names, []


def searched() -> tuple[list[str], list[str]]:
    drawn = dict.fromkeys(("learning_rate", *OBJECTIVES.names()), 0.123456)
    figures = {"accuracy": 0.9, "document_average_precision": 0.8, "rest": 0.1}
    trials = tuple(TriedRecipe(number, "complete", 0.5, {**drawn}, figures) for number in range(3))
    folder = Path("runs") / ("a_long_name_of_a_folder" * 4)
    tune._print_table(Tuned(folder, {"trial": {"because": "it is"}}, "labels", trials))
    return [*drawn, "document_average_precision", str(folder)], ["0.1235"]


TABLES: dict[str, Callable[[], tuple[list[str], list[str]]]] = {
    "evaluate": evaluation,
    "compare": compared,
    "sanity": checked,
    "roar": retrained,
    "tune": searched,
}


def whole(name: str, out: str) -> bool:
    """Say whether a name stands in an output as it is, and not as a part of a longer one."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", out) is not None


@pytest.mark.parametrize("columns", ["40", "80", "137"])
@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_whole_names_and_figures(
    table: str, columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    names, figures = TABLES[table]()
    out = capsys.readouterr().out
    assert [name for name in names if not whole(name, out)] == []
    assert [figure for figure in figures if figure not in out] == []
    assert "…" not in out
    width = max(80, int(columns))
    too_long = [line for line in out.splitlines() if len(line) > width]
    assert [line for line in too_long if len(line.split()) > 1] == []


LISTS = {"methods": METHODS, "metrics": METRICS, "objectives": OBJECTIVES, "datasets": CORPORA}


@pytest.mark.parametrize("columns", ["80", "200"])
@pytest.mark.parametrize("command", LISTS)
def test_lists_have_names_and_settings_whole(
    command: str, columns: str, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    code, out, _ = cli(command)
    assert code == 0
    registry = LISTS[command]
    for name in registry.names():
        settings = [f"{one.name}={one.default}" for one in registry[name].settings.values()]
        assert [one for one in (name, *settings) if not whole(one, out)] == []
    assert max(map(len, out.splitlines())) <= int(columns)
    assert "…" not in out
    assert INTERNAL.findall(out) == []


def test_methods_say_what_they_cost_and_are_good_for(cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = " ".join(cli("methods")[1].split())
    for name in METHODS.names():
        assert METHODS[name].facts["cost"] in said
        assert METHODS[name].facts["good_for"] in said
    assert "integrated_gradients (ig)" in said
    assert "looks at: attention and inner states, gradients" in said


@pytest.mark.parametrize("command", sorted(typer.main.get_command(main.app).commands))  # type: ignore[attr-defined]
def test_help_has_every_option_whole(command: str, cli: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    options = typer.main.get_command(main.app).commands[command].params  # type: ignore[attr-defined]
    out = cli(command, "--help")[1]
    flags = [flag for one in options for flag in one.opts if flag.startswith("--")]
    assert [flag for flag in flags if not whole(flag, out)] == []
    assert "…" not in out
    assert INTERNAL.findall(out) == []


def test_no_message_is_written_in_words_of_the_code() -> None:
    """Strings that are not docstrings: what is raised, noted, printed or asked."""
    found = []
    for path in SOURCES.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if "testing" in path.parts or not INTERNAL.search(source):  # those who write plug-ins know these words
            continue
        tree = ast.parse(source)
        described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        annotated = {id(one) for node in ast.walk(tree) for one in _annotations(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described | annotated:
                found += [(path.name, node.value) for _ in INTERNAL.findall(node.value)]
    assert found == []


def _annotations(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a node that are types, which may be written as strings."""
    own = [getattr(node, name, None) for name in ("annotation", "returns")]
    return [part for one in own if isinstance(one, ast.AST) for part in ast.walk(one)]
