"""A short name stands for a method wherever one is typed; receipts and tables have the full name."""

from pathlib import Path
from typing import Any

import pytest

import quick
import whylight as wl
from whylight.core.errors import SettingError
from whylight.core.registry import METHODS
from whylight.explaining.variants import asked_methods, asks_for_layers, share_settings, table_name

TEXT = "a good film"


@pytest.fixture
def clf() -> Any:
    return quick.classifier("bert", labels=("negative", "positive"))


def test_an_alias_gives_the_same_explanation_under_the_full_name(clf: Any) -> None:
    short, full = (wl.explain(clf, TEXT, method=name, steps=5) for name in ("ig", "integrated_gradients"))
    assert short.provenance.method == "integrated_gradients"
    assert short.as_list() == full.as_list()


def test_settings_reach_a_method_by_its_alias(clf: Any) -> None:
    found = wl.explain(clf, TEXT, method=["ig[steps=3]", "ixg"])
    assert [one.provenance.settings.get("steps") for one in found] == [3, None]
    for owner, name in (("ig", "integrated_gradients"), ("integrated_gradients", "ig"), ("ig", "ig")):
        assert wl.explain(clf, TEXT, method=name, **{f"{owner}.steps": 4}).provenance.settings["steps"] == 4
    assert share_settings([METHODS["shap"]], {"shap.samples": "50"})[0]["samples"] == 50
    with pytest.raises(SettingError, match="'integrated_gradients', which is not asked for; asked for: lime"):
        wl.explain(clf, TEXT, method="lime", **{"ig.steps": 4})
    with pytest.raises(SettingError, match=r"unknown setting of 'integrated_gradients' 'step'. Did you mean 'steps'"):
        wl.explain(clf, TEXT, method="ig[step=4]")


def test_a_method_that_is_asked_for_by_both_names_is_one() -> None:
    names = [one.name for one in asked_methods(["ig", "integrated_gradients", "ig[steps=3]", "sig"])]
    assert names == [
        "integrated_gradients",
        "integrated_gradients[steps=3]",
        "sequential_integrated_gradients",
    ]
    assert not asks_for_layers(["ig"], {})


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("ig", "integrated_gradients"),
        ("ig[steps=20]", "integrated_gradients[steps=20]"),
        ("ixg@4", "input_x_gradient@4"),
        ("lime", "lime"),
        ("human", "human"),
        ("[x]", "[x]"),
    ],
)
def test_tables_have_the_full_name(typed: str, stored: str) -> None:
    assert table_name(typed) == stored


def test_a_run_is_evaluated_and_compared_by_aliases(clf: Any, cli: Any, tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "a good film", "label": "positive"}\n{"text": "a dull plot", "label": "negative"}\n')
    out = tmp_path / "run"
    found = wl.evaluate(
        clf, wl.dataset(path), methods=["ig[steps=2]", "ixg"], metrics=["comprehensiveness"], out=out, progress=False
    )
    assert [line.method for line in found.summary.lines] == [
        "integrated_gradients[steps=2]",
        "input_x_gradient",
        "random",
    ]
    code, printed, _ = cli("compare", str(out), "--method", "ig[steps=2]", "--against", "ixg")
    assert code == 0
    assert "integrated_gradients[steps=2] minus input_x_gradient" in printed
    assert "unknown method of this run 'kernel_shap'" in cli("compare", str(out), "--method", "shap")[2]
