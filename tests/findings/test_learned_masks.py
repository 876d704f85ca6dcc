"""The tables about learned masks, from rows whose figures are known."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import aml
import aml_costs
import aml_tables
import movies
import numpy as np
import pytest
from aml_tables import COLUMNS, Found, Search
from document import Table

from run_rows import explanation_row, score_row
from whylight.run.evaluation import Evaluation

TEXTS = 12
GOOD, SOLVEX = "lime", "solvex[beam=5]"


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Table]]:
    kept: dict[str, dict[str, Table]] = {}
    for script in (aml_tables, aml_costs, movies):
        monkeypatch.setattr(script, "put", kept.__setitem__)
    return kept


def run(levels: Mapping[str, float], seed: int = 0) -> Evaluation:
    """A run in which methods are so good, by every metric, but for noise of a text that all of them share."""
    noise = np.random.default_rng(seed).normal(scale=0.01, size=TEXTS)
    explanations, scores = [], []
    for method, level in {**levels, "random": 0.0}.items():
        for text in range(TEXTS):
            explanations.append(explanation_row(f"t{text}", method, [0.1, 0.2, 0.3]))
            for metric, remover in {*COLUMNS.values(), ("insertion_auc", "delete"), ("deletion_auc", "delete")}:
                better = metric in {"comprehensiveness", "aopc_comprehensiveness", "insertion_auc"}
                value = noise[text] + (level if better else -level)
                scores.append(score_row(f"t{text}", method, value, metric=metric, remover=remover, settings="{}"))
    return Evaluation(explanations, scores)


def found() -> Found:
    # in another order than the columns, as they are measured remover by remover
    validated = [{column: number + place / 10 for place, column in enumerate(reversed(COLUMNS))} for number in range(3)]
    search = Search(
        [{"prediction": 0.1, "inverse": 0.2, "sparsity": 0.3}] * 3,
        {2: Path("two")},
        validated,
        dict.fromkeys(COLUMNS, 2),
    )
    return Found(
        accuracy=0.9,
        search=search,
        others=[run({SOLVEX: 0.5, f"{SOLVEX} best-of-10": 0.9}), run({GOOD: 0.6, "alti": 0.1})],
        pretrained=dict.fromkeys(COLUMNS, run({"aml": 0.4})),
        finetuned=dict.fromkeys(COLUMNS, run({"aml": 0.7})),
        controls=[run({SOLVEX: 0.5, f"{SOLVEX} best-of-10": 0.9}), run({f"{GOOD} best-of-10": 0.8, GOOD: 0.6})],
        tau=0.5,
        ablated={f"{column}, without {term}": run({"aml": 0.3}) for column in ("Suff", "Comp") for term in aml.ABLATED},
    )


def test_fitted_networks_are_held_against_the_best_of_the_others_with_one_map_and_with_ten(
    written: dict[str, dict[str, Table]],
) -> None:
    aml_tables.write("sst", found())
    tables = written["aml_sst"]
    for column, (metric, _) in COLUMNS.items():
        sign = 1 if "comprehensiveness" in metric else -1
        cells = [tables["differences"].cell(column, name) for name in tables["differences"].head[1:]]
        assert cells[0] == GOOD
        assert [float(cell.split()[0]) for cell in cells[1:]] == pytest.approx(
            [sign * value for value in (0.1, -0.1, 0.3, -0.2)]
        )
        assert [cell.split(", ")[-1] for cell in cells[1:]] == ["better", "worse", "better", "worse"]
    assert [row[0] for row in tables["methods"].rows] == [
        "fAML", "pAML", SOLVEX, GOOD, "alti", "random", f"{GOOD} best-of-10",
    ]  # fmt: skip
    assert all("-0.100" in cell or "+0.100" in cell for row in tables["ablations"].rows for cell in row[1:])
    assert [tables["one pass"].cell(name, "Comp ↑").split()[0] for name in (SOLVEX, GOOD, "alti", "random")] == [
        "-0.100", "-0.200", "+0.300", "+0.400",
    ]  # fmt: skip
    own = [float(tables["trials"].cell("1", head)) for head in tables["trials"].head[4:9]]
    assert own == [-1.4, -1.3, 1.2, -1.1, 1.0]
    assert tables["trials"].cell("2", "best for") == ", ".join(COLUMNS)
    assert tables["remarks"].cell("texts that are explained", "value") == str(TEXTS)


def test_the_objective_of_solvex_is_counted_text_by_text(written: dict[str, dict[str, Table]]) -> None:
    aml_tables.write("sst", found())
    table = written["aml_sst"]["solvex"]
    head = table.head[1]
    assert table.cell("alti", head) == f"{TEXTS} of {TEXTS}"
    assert table.cell(GOOD, head) == table.cell("the best of all others", head) == f"0 of {TEXTS}"
    assert table.cell(GOOD, table.head[2]).startswith("-0.200")


def test_reviews_are_compared_one_by_one_by_every_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(movies, "CORPUS", ())
    names = [movies.MEAN_AP, movies.SUFFICIENCY, movies.COMPREHENSIVENESS]
    monkeypatch.setattr(movies, "COLUMNS", {name: name for name in names})
    rows = {"MaRC": (reviewed({"marc": 0.6, "lime": 0.5}, names), "marc")}
    rows["LIME"] = (rows["MaRC"][0], "lime")
    table = movies._differences("MaRC", rows, ["LIME"])
    assert [table.cell("MaRC - LIME", name).split()[0] for name in names] == ["+0.100"] * 3
    assert [table.cell("MaRC - LIME", name).split(", ")[-1] for name in names] == ["better", "worse", "better"]
    means = movies._methods(rows)
    assert [means.cell(name, "reviews") for name in rows] == [str(TEXTS)] * 2
    assert means.cell("LIME", movies.MEAN_AP).startswith("0.5")


def reviewed(levels: Mapping[str, float], names: Sequence[str]) -> Evaluation:
    scores = [
        score_row(f"t{text}", method, level, metric=name, settings="{}")
        for method, level in levels.items()
        for text in range(TEXTS)
        for name in names
    ]
    explanations = [explanation_row(f"t{text}", method, [0.1, 0.2]) for method in levels for text in range(TEXTS)]
    return Evaluation(explanations, scores)


def test_the_sets_that_solvex_asks_about_grow_faster_than_the_text() -> None:
    few, many = (aml_costs._counted(length) for length in (20, 40))
    assert 3 * few < many < 6 * few  # as the square of it
