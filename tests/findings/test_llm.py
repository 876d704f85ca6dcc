"""The tables about a prompted model, made of an evaluation of the bundled one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import llm
import llm_tables
import pytest
from llm_tables import Accuracy, Found, columns

import whylight as wl
from whylight.core.text import Text
from whylight.data.dataset import Dataset, Record

REMOVERS = ("delete", "mask")
TEXTS = ("a gripping and moving film", "a dull plot that drags", "nothing here is any good", "i loved every minute")


def as_fitted(found: Any) -> Any:
    """Call one of the methods of an evaluation by the name of the fitted network."""

    def renamed(rows: Any) -> list[Any]:
        return [{**row, "method": "aml"} if row["method"] == "input_x_gradient" else row for row in rows]

    return replace(found, explanations=renamed(found.explanations), scores=renamed(found.scores))


def data() -> Dataset:
    records = tuple(Record(str(n), Text(text), (("positive", "negative")[n % 2],)) for n, text in enumerate(TEXTS))
    return Dataset("mine", "test", ("negative", "positive"), records)


def test_every_table_has_every_method_and_column(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = columns(REMOVERS)
    metrics = list(dict.fromkeys(metric for metric, _ in wanted.values()))
    options: dict[str, Any] = {"metrics": metrics, "metric_removers": REMOVERS, "remover": "delete", "progress": False}
    run = wl.evaluate(wl.load(), data(), methods=["occlusion", "input_x_gradient"], **options)
    runs = {"finetuned": as_fitted(run), "pretrained": as_fitted(run), "cheap": run}
    weak, good = Accuracy(0, 0.55, 0.5), Accuracy(4, 0.75, 0.5)
    found = Found([weak, good], prompted=True, trials=[0.3, 0.2], runs=runs, removers=REMOVERS)
    methods = llm_tables._methods(found)
    assert [row[0] for row in methods.rows] == ["fAML", "pAML", "occlusion", "input_x_gradient", "random"]
    assert methods.rows[0][1:6] == methods.rows[3][1:6]
    assert methods.cell("occlusion", "texts") == str(len(TEXTS))
    assert llm_tables._differences(found).cell("Comp", "fAML minus pAML").startswith("+0.000")
    assert [row[0] for row in llm_tables._one_pass(found).rows] == ["occlusion", "input_x_gradient", "random"]
    assert llm_tables._remarks(found).cell("far enough above chance", "value") == "yes"
    poor = llm_tables._remarks(replace(found, accuracies=[good, weak]))
    assert poor.cell("far enough above chance", "value") == "no: cannot tell"
    llm_tables.write("sst", found, keep=False)
    assert "| method | Suff" in capsys.readouterr().out


def test_examples_are_drawn_of_each_label_in_turns() -> None:
    drawn = llm._balanced(data(), 4)
    assert [one.labels[0] for one in drawn] == ["negative", "positive"] * 2
    assert len({one.id for one in drawn}) == 4


def test_only_cheap_methods_are_run_where_nothing_is_fitted() -> None:
    (cheap,) = llm._runs(llm.Corpus("imdb", Path()), None)
    assert "occlusion" not in cheap.methods
    assert "self_explanation" in cheap.methods
    every = {name for run in llm._runs(llm.Corpus("emotion", Path()), Path("x")) for name in run.methods}
    assert "self_explanation" not in every
    assert {"aml", "lime[samples=200]", "decompx_linear"} <= every
