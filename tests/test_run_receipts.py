"""Receipts, charts and refusals of the report of a run."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from typer.testing import CliRunner

from balanced import parsed
from run_rows import example_rows, write
from whylight.cli.main import app
from whylight.core.errors import InputError, SettingError
from whylight.core.registry import METRICS
from whylight.report.charts import HEIGHT, LEFT, RIGHT, WIDTH, Point, scatter
from whylight.report.run_curves import curve_panels, mean_curves
from whylight.report.run_examples import best_and_worst
from whylight.report.run_page import run_page
from whylight.report.run_rows import choose_metric, number, read_run
from whylight.store import tables
from whylight.store.tables import Row

NASTY = '</style><script>alert("1")</script> & <b>bold</b> film \x01'
VOID = {"meta", "wbr", "br", "line", "circle"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "run", *example_rows())


def curve_row(key: str, method: str, without_top: list[float], top_alone: list[float], **changes: object) -> Row:
    row = {"run": "r", "example_id": key, "method": method, "target": 1, "label": "positive", "correct": True,
           "remover": "mask", "score_space": "probability", "shares": [0.0, 0.5, 1.0],
           "without_top": without_top, "top_alone": top_alone}  # fmt: skip
    return {**row, **changes}


def test_curves_are_means_over_labels_then_texts_and_stand_against_random(folder: Path) -> None:
    rows = [
        curve_row("a", "lime", [0.8, 0.2, 0.0], [0.0, 0.4, 0.8]),
        curve_row("a", "lime", [0.8, 0.4, 0.0], [0.0, 0.4, 0.8], target=2),
        curve_row("b", "lime", [0.6, 0.1, 0.2], [0.2, 0.4, 0.6]),
        curve_row("a", "random", [0.8, 0.6, 0.0], [0.0, 0.1, 0.8]),
    ]
    means = mean_curves(rows)
    assert means["lime"][0].tolist() == pytest.approx([0.7, 0.2, 0.1])
    assert means["lime"][1].tolist() == pytest.approx([0.1, 0.4, 0.7])
    (group,) = curve_panels(rows)
    assert [panel.method for panel in group.panels] == ["lime"]
    for line in (group.panels[0].without_top, group.panels[0].random_top_alone):
        points = [tuple(map(float, point.split(","))) for point in line.split(" ")]
        assert [x for x, _ in points] == sorted(x for x, _ in points)
        assert all(0 <= x <= group.frame.width and 0 <= y <= group.frame.bottom for x, y in points)
    tables.write(folder / "curves.parquet", [{**row, "example_id": "t0"} for row in rows], tables.CURVES)
    assert "While the top words go" in run_page(folder)
    assert curve_panels([]) == []


def test_many_metrics_make_several_tables(tmp_path: Path) -> None:
    explanations, scores = example_rows()
    more = [{**row, "metric": name, "remover": None} for row in scores for name in METRICS.names()[:9]]
    html = run_page(write(tmp_path / "run", explanations, more))
    assert html.count('class="numbers') >= 2
    assert "All words together" in html


def test_settings_that_differ_between_methods_are_shown_with_whose_they_are(tmp_path: Path) -> None:
    explanations, scores = example_rows()
    tuned = [
        {**row, "metric": "token_f1", "settings": json.dumps({"boundary": len(row["method"]) / 100})}
        for row in scores
        if row["metric"] == "iou" and row["method"] != "human"
    ]
    noted = [{**row, "notes": ["read in 3 windows"]} if row["method"] == "lime" else row for row in explanations]
    html = run_page(write(tmp_path / "run", noted, tuned))
    assert "0.09 (occlusion); 0.04 (lime); 0.06 (random)" in html
    assert "note on 12 texts" in html


def test_undefined_values_are_left_out_and_counted(tmp_path: Path) -> None:
    explanations, scores = example_rows()
    undefined = [{**row, "value": math.nan if row["example_id"] == "t0" else row["value"]} for row in scores]
    run = write(tmp_path / "run", explanations, undefined)
    html = run_page(run)
    assert "11 of 12 texts" in html
    assert "of them undefined, left out</dt><dd><bdi>4<" in html
    assert "t0" not in {one.name for half in best_and_worst(read_run(run), "iou") for one in half}
    nothing = run_page(write(tmp_path / "none", explanations, [{**row, "value": None} for row in scores]))
    assert "No text has a value of aopc_comprehensiveness" in nothing
    parsed(nothing)


def test_the_metric_of_chart_and_examples_can_be_chosen(folder: Path) -> None:
    run = read_run(folder)
    assert choose_metric(run, None) == "aopc_comprehensiveness"
    assert choose_metric(run, "iou") == "iou"
    assert "against iou" in run_page(folder, quality="iou")
    with pytest.raises(SettingError, match="Known: aopc_comprehensiveness, iou"):
        run_page(folder, quality="entropie")


def test_without_a_metric_that_asks_the_model_the_first_one_is_taken(tmp_path: Path) -> None:
    explanations, scores = example_rows()
    run = write(tmp_path / "run", explanations, [row for row in scores if row["metric"] == "iou"])
    assert choose_metric(read_run(run), None) == "iou"
    parsed(run_page(run))


@given(
    st.lists(
        st.tuples(st.floats(0, 1e4), st.floats(-5, 5), st.floats(0, 1)), min_size=1, max_size=14
    ),
    st.lists(st.floats(-5, 5), max_size=2),
)  # fmt: skip
def test_everything_in_the_chart_is_inside_it(points: list[tuple[float, float, float]], levels: list[float]) -> None:
    given_points = [Point(f"method_{i}", x, y, y - e, y + e) for i, (x, y, e) in enumerate(points)]
    chart = scatter(given_points, [(f"level {i}", y) for i, y in enumerate(levels)])
    for mark in chart.marks:
        assert LEFT <= mark.x <= WIDTH - RIGHT
        assert 0 <= mark.high <= mark.y <= mark.low <= HEIGHT
    order = sorted(range(len(points)), key=lambda i: points[i][0])
    assert [chart.marks[i].x for i in order] == sorted(mark.x for mark in chart.marks)
    assert 1 <= len(chart.x_ticks) <= 12
    assert 2 <= len(chart.y_ticks) <= 12


def test_labels_of_near_points_do_not_cover_each_other() -> None:
    points = [Point(f"method_number_{i}", 0.1 * 1.02**i, 0.5 + 0.001 * i, 0.2, 0.8) for i in range(4)]
    marks = scatter(points, []).marks
    places = {(mark.anchor, round(mark.label_y / 10)) for mark in marks}
    assert len(places) == 4


def test_a_number_that_rounds_to_nothing_has_no_sign() -> None:
    assert [number(v) for v in (-0.0001, -0.5, 0.25)] == ["0.000", "\u22120.500", "0.250"]
    assert number(0.5, "+.2f") == "+0.50"


def test_the_page_needs_no_deep_learning_library(folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from whylight.report.run_page import run_page; "
        f"run_page(Path({str(folder)!r})); print(*{{'torch', 'transformers', 'matplotlib'}} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.split() == []


def test_a_folder_without_a_run_is_refused_in_one_sentence(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        run_page(tmp_path / "nowhere")
    with pytest.raises(InputError, match="holds no run"):
        run_page(tmp_path)
    tables.write(folder / "scores.parquet", [], tables.SCORES)
    with pytest.raises(InputError, match="nothing that is finished yet"):
        run_page(folder)
    write(folder, *example_rows())
    about = {"run": "r", "asked": "not json", "rows_run": 1, "seconds": 1.0, "peak_megabytes": 1.0}
    tables.write(folder / "runs.parquet", [about], tables.RUNS)
    with pytest.raises(InputError, match="what was asked"):
        run_page(folder)
    (folder / "runs.parquet").write_bytes(b"not a table")
    with pytest.raises(InputError, match="damaged or not a table"):
        run_page(folder)


def test_the_command_writes_beside_the_tables_or_where_it_is_told(tmp_path: Path, folder: Path) -> None:
    runner = CliRunner()
    done = runner.invoke(app, ["report", str(folder)], catch_exceptions=False)
    assert done.exit_code == 0
    assert (folder / "report.html").read_text(encoding="utf-8") == run_page(folder)
    other = tmp_path / "other.html"
    runner.invoke(app, ["report", str(folder), "--out", str(other), "--metric", "iou"], catch_exceptions=False)
    assert other.read_text(encoding="utf-8") == run_page(folder, quality="iou")
    failed = runner.invoke(app, ["report", str(tmp_path / "nowhere")])
    assert isinstance(failed.exception, InputError)
