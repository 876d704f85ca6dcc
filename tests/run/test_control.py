"""The best-of-n control: as alike as asked, never worse than the map itself, and known to the folder."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

import whylight as wl
from whylight.core.errors import InputError, SettingError
from whylight.core.registry import METRICS
from whylight.report.run_page import run_page
from whylight.run.control import Control, best_value, candidates, noise_size

WORTH = {"good": 1.0, "bad": -1.5, "dull": -0.5, "gripping": 2.0, "film": 0.1, "plot": -0.2}
TEXTS = ["good gripping film dull plot", "bad dull film good plot again", "gripping plot bad film this time"]


def decide(texts: list[str]) -> Any:
    """A bag of words in which some words change what others are worth."""
    z = np.asarray([sum(WORTH.get(word, 0.0) for word in text.split()) for text in texts])
    z = z + np.asarray([1.0 if "film" in text and "dull" in text else 0.0 for text in texts])
    p = 1 / (1 + np.exp(-z))
    return np.stack([1 - p, p], axis=1)


@pytest.fixture
def classifier() -> Any:
    return wl.load(decide, labels=["negative", "positive"], identity="words-1")


@pytest.fixture
def data(tmp_path: Path) -> Any:
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(f'{{"text": "{text}", "label": "positive"}}\n' for text in TEXTS), encoding="utf-8")
    return wl.dataset(str(path))


@pytest.mark.parametrize("tau", [0.6, 0.9])
def test_perturbations_are_as_alike_as_asked(tau: float) -> None:
    generator = np.random.default_rng(0)
    row, draws = generator.standard_normal(200), generator.standard_normal((9, 200))
    size = noise_size(row, draws, tau)
    assert np.median([kendalltau(row, row + size * draw).statistic for draw in draws]) == pytest.approx(tau, abs=0.01)


def test_the_best_of_several_maps_is_the_best_of_them(classifier: Any, data: Any) -> None:
    metrics = ["comprehensiveness", "sufficiency"]
    found = wl.evaluate(
        classifier, data, methods=["occlusion"], metrics=metrics, control="best-of=5,tau=0.2", progress=False
    )
    values = {(row["method"], row["example_id"], row["metric"]): row["value"] for row in found.scores}
    gained = 0.0
    for record in data:
        explanation = wl.explain(classifier, record.example.text, method="occlusion")
        maps = candidates(explanation, Control(5, 0.2))
        for metric, best in (("comprehensiveness", max), ("sufficiency", min)):
            measured = [float(wl.measure(classifier, one, metric=metric, score="probability")[0]) for one in maps]
            own, controlled = (values[name, record.id, metric] for name in ("occlusion", "occlusion best-of-5"))
            assert own == pytest.approx(measured[0])
            assert controlled == pytest.approx(best(measured))
            chance, of_several = (values[name, record.id, metric] for name in ("random", "random best-of-5"))
            assert best(chance, of_several) == of_several
            gained += abs(of_several - chance)
    assert gained > 0
    assert {line.method for line in found.summary.lines} == {
        *("occlusion", "occlusion best-of-5", "random", "random best-of-5"),
    }


@pytest.mark.parametrize("name", ["comprehensiveness", "sufficiency"])
@pytest.mark.parametrize("first", [np.nan, 0.3])
def test_a_map_without_a_value_is_not_the_best(name: str, first: float) -> None:
    spec = METRICS[name]
    values = iter([first, 0.2, np.nan, 0.1])
    counted = replace(spec, function=lambda *_args: np.asarray([next(values)]))
    best = best_value([None] * 4, None, counted, {})  # type: ignore[list-item, arg-type]
    assert best == (np.nanmax([first, 0.2, 0.1]) if spec.facts["higher_is_better"] else 0.1)


def test_a_folder_knows_its_control_and_its_page_shows_it(classifier: Any, data: Any, tmp_path: Path) -> None:
    asked = {"methods": ["occlusion"], "metrics": ["comprehensiveness"], "out": tmp_path / "run", "progress": False}
    wl.evaluate(classifier, data, control="best-of=3", **asked)
    with pytest.raises(InputError, match="control"):
        wl.evaluate(classifier, data, **asked)
    assert "occlusion best-of-3" in run_page(tmp_path / "run")


@pytest.mark.parametrize(
    "text", ["best-of", "best-of=1", "best-of=x", "worst-of=3", "best-of=3,tau=2", "best-of=3,x=1"]
)
def test_a_control_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match=r"best-of|tau"):
        Control.parse(text)


def test_a_map_without_an_order_has_none_to_perturb() -> None:
    assert noise_size(np.zeros(4), np.ones((2, 4)), 0.9) == 0
