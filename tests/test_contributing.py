"""The examples of CONTRIBUTING.md, run as they are written."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from whylight.core.registry import METHODS, METRICS
from whylight.testing import check_metric

PLUG_IN, CORPUS_METRIC, CHECKED, ONE_BY_ONE = re.findall(
    r"```python\n(.*?)```", (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8"), flags=re.DOTALL
)


@pytest.fixture(autouse=True)
def _my_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    METHODS.names()
    monkeypatch.setattr(METHODS, "_specs", dict(METHODS._specs))
    (tmp_path / "my_method.py").write_text(PLUG_IN, encoding="utf-8")
    spec: Any = importlib.util.spec_from_file_location("my_method", tmp_path / "my_method.py")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def names_of(example: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    exec(example, found)  # noqa: S102  our own document
    return found


def test_the_plug_in_of_the_example_passes_its_test() -> None:
    names_of(CHECKED)["test_my_method"]()


def test_the_checks_come_one_by_one() -> None:
    names = names_of(ONE_BY_ONE)
    assert len(names["CHECKS"]) > 15
    for title in ("the_seed_decides", "a_game_in_which_nothing_counts_scores_nothing"):
        names["test_my_method_keeps_its_promise"](title)


def test_the_corpus_metric_of_the_example_keeps_its_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    METRICS.names()
    monkeypatch.setattr(METRICS, "_specs", dict(METRICS._specs))
    check_metric(names_of(CORPUS_METRIC)["my_rate"])
