"""Inputs that nobody draws, and a renderer for them: page, terminal and report of a run."""

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from markupsafe import Markup
from rich.text import Text as RichText
from typer.testing import CliRunner

import quick
import whylight as wl
from balanced import parsed
from test_widened import BOARD, Board, BoardClassifier, boards, known  # noqa: F401  the last is a fixture
from whylight.cli.main import app
from whylight.core import registry
from whylight.core.errors import SettingError
from whylight.core.explanation import Explanation
from whylight.core.inputs import Noun
from whylight.data.dataset import Dataset
from whylight.explaining.console import Console
from whylight.explaining.explain import explain
from whylight.report import renderers
from whylight.report.page import page
from whylight.report.plain import MOST_LINES, MOST_ON_PAGE
from whylight.report.renderers import Manner, Renderer, register_renderer, with_evidence
from whylight.report.rows import AnswerRow
from whylight.report.terminal import render

NASTY = '</style><script>alert("1")</script> <b>&amp; {{ 7*7 }} [red]\x1b[2J\x9b\u202e\x01'


STEERING = set("\x1b\x9b\u202e\x01")


def printed(explanations: Sequence[Explanation]) -> str:
    console = Console(file=io.StringIO(), width=100)
    render(explanations, console=console)
    return console.file.getvalue()  # type: ignore[attr-defined]


def reported(tmp_path: Path, data: Dataset) -> str:
    wl.evaluate(BoardClassifier(), data, methods=["occlusion"], progress=False, out=tmp_path / "run")
    done = CliRunner().invoke(app, ["report", str(tmp_path / "run"), "--out", str(tmp_path / "run.html")])
    assert done.exit_code == 0, done.output
    return (tmp_path / "run.html").read_text(encoding="utf-8")


def told(html: str) -> str:
    """What a page says, without tags and styles."""
    parsed(html)
    return unescape(re.sub(r"<[^>]*>", " ", re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)))


def drawn_html(row: AnswerRow, manner: Manner) -> Markup:
    cells = Markup().join(Markup("<td>{}</td>").format(row.explanation.example.show(p)) for p in row.explanation.places)
    return Markup('<table class="board{}"><tr>{}</tr></table>').format(manner.labels, cells)


def drawn_tile(row: AnswerRow, brief: bool) -> Markup:  # noqa: FBT001
    return Markup('<i class="small">{} {}</i>').format(row.explanation.example.show(row.explanation.places[0]), brief)


def drawn_lines(row: AnswerRow, manner: Manner, width: int) -> list[RichText]:
    first = row.explanation.example.show(row.explanation.places[0])
    return [RichText(f"board of {manner.length}, {width} wide, from {first}")]


OWN = Renderer(
    html=drawn_html,
    tile=drawn_tile,
    lines=drawn_lines,
    layers=lambda stack, target: Markup("<u>{} layers of {}</u>").format(len(stack), target.label),
    evidence=lambda one, _target, most: [{"first": one.example.show(place)} for place in one.places[:most]],
    style=".board2 td { color: red; }",
)


@pytest.fixture
def own_renderer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renderers, "_RENDERERS", dict(renderers._RENDERERS))
    monkeypatch.setattr(Board, "noun", Noun("board", "boards", "cell", "cells"), raising=False)
    register_renderer("board", OWN)


def test_a_kind_that_nobody_draws_is_listed_feature_by_feature() -> None:
    found = explain(BoardClassifier(), BOARD, method="occlusion", target="all")
    for html in (page([found]), str(found._repr_html_())):
        listed = re.findall(r'<tr><td><span[^>]*title="([^"]*)"[^>]*>([^<]*)</span></td><td>([^<]*)</td>', html)
        scores = [f"{score:+.6g}" for score in found.scores.ravel()]
        assert [score for score, _, _ in listed] == scores
        assert [text for _, text, _ in listed][:6] == [found.example.show(place) for place in found.places]
        assert listed[4][2] == "row 1, column 1"
        assert "strongest feature of each row" in told(html)
        assert "Evidence" not in told(html)
    lines = [line.split() for line in printed([found]).splitlines()]
    assert ["+3.00", "3", "row", "0,", "column", "0"] in lines
    assert ["-1.00", "-1", "row", "1,", "column", "0"] in lines
    assert all(one["evidence"] is None for one in with_evidence(found))


def test_of_very_many_features_the_strongest_are_listed_and_the_others_counted() -> None:
    row = tuple(float(i) for i in range(500))
    found = explain(BoardClassifier(), Board((row, row)), method="occlusion", target="first")
    html = page([found])
    assert html.count("<tr><td>") == MOST_ON_PAGE
    assert "row 0, column 499" in html
    assert f"{1000 - MOST_ON_PAGE} more features are not listed" in told(html)
    assert f"{1000 - MOST_LINES} more features are not listed" in printed([found])


def test_the_report_of_a_run_lists_them_too(tmp_path: Path) -> None:
    html = reported(tmp_path, boards())
    assert html.count('<div class="features">') == 9  # three boards, under occlusion, chance and what people marked
    said = told(html)
    assert all(part in said for part in ("on 3 inputs", "Best and worst inputs", "time per input", "order of features"))


def test_a_kind_is_drawn_by_its_renderer(own_renderer: None, tmp_path: Path) -> None:  # noqa: ARG001
    found = explain(BoardClassifier(), BOARD, method="occlusion", target="all")
    for html in (page([found]), str(found._repr_html_())):
        assert html.count('<table class="board2"><tr><td>3</td><td>0</td>') == 2
        assert html.count(".board2 td { color: red; }") == 1
        assert "strongest cell of each row" in told(html)
    assert "board of 6, 96 wide, from 3" in printed([found])
    assert with_evidence(found, spans=2)[0]["evidence"] == [{"first": "3"}, {"first": "0"}]
    html = reported(tmp_path, boards())
    assert html.count('<i class="small">4 True</i>') == 3
    assert "Best and worst boards" in told(html)


@pytest.mark.usefixtures("own_renderer")
def test_layers_are_one_picture_where_the_kind_has_such() -> None:
    found = explain(BoardClassifier(), BOARD, method="occlusion", target="first")
    stack = [replace(found, provenance=replace(found.provenance, settings={"layer": n})) for n in (1, 2)]
    assert page(stack).count("<u>2 layers of first</u>") == 1
    assert "<table" not in page(stack)


def test_layers_are_rows_where_it_has_none() -> None:
    found = explain(BoardClassifier(), BOARD, method="occlusion", target="first")
    stack = [replace(found, provenance=replace(found.provenance, settings={"layer": n})) for n in (1, 2)]
    assert page(stack).count('<div class="features">') == 2


def test_kinds_may_stand_on_one_page() -> None:
    board = explain(BoardClassifier(), BOARD, method="occlusion")
    text = quick.run(quick.classifier("bert"), "good plot drags", "occlusion")
    said = told(page([board, text]))
    assert "2 inputs" in said
    assert "Input 1 of 2" in said
    assert "Text 2 of 2" in said
    assert all(word in printed([board, text]) for word in ("row 1, column 1", "good plot drags"))


@pytest.mark.parametrize("drawn", ["plainly", "by markup", "as a string"])
def test_hostile_strings_are_escaped(drawn: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(renderers, "_RENDERERS", dict(renderers._RENDERERS))
    if drawn == "by markup":
        register_renderer("board", OWN)
    if drawn == "as a string":
        show = (lambda row, _how: row.explanation.example.show(row.explanation.places[0]),) * 2
        register_renderer("board", replace(OWN, html=show[0], tile=show[1]))
    found = explain(BoardClassifier(), Board(BOARD.cells, NASTY), method="occlusion", target="all")
    for html in (page([found]), str(found._repr_html_()), reported(tmp_path, boards(NASTY))):
        assert html.count("</style>") == 1
        assert not {"script", "b"} & {tag for tag, _ in parsed(html).seen}
        assert not set(html) & STEERING - {"\u202e"}
        assert '</style><script>alert("1")</script> <b>&amp; {{ 7*7 }} [red]' in unescape(html)
    assert not set(printed([found])) & STEERING
    assert "[red]" in printed([found])


def test_another_package_brings_a_renderer_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class Offered:
        @staticmethod
        def load() -> None:
            register_renderer("board", OWN)

    monkeypatch.setattr(renderers, "_RENDERERS", dict(renderers._RENDERERS))
    monkeypatch.setattr(registry, "entry_points", lambda group: [Offered] if group == "whylight.report.kinds" else [])
    registry.load_plugins.__wrapped__("whylight.report.kinds")
    assert renderers.renderer_of("board") is OWN
    assert renderers.renderer_of("text") is not renderers.PLAIN


def test_a_kind_has_one_renderer(own_renderer: None) -> None:  # noqa: ARG001
    register_renderer("board", OWN)
    with pytest.raises(SettingError, match="two renderers are registered for the kind of input 'board'"):
        register_renderer("board", Renderer())
