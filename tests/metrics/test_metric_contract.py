"""What every metric promises, new plug-ins included; those over a corpus in `test_corpus_contract`."""

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from metric_builders import BOUNDARY, explanation, probability, rationale

from whylight.core.explanation import Explanation
from whylight.core.marked import is_corpus_metric
from whylight.core.rationale import Rationale
from whylight.core.registry import METRICS
from whylight.views.game import Game

every_metric = pytest.mark.parametrize("name", [one for one in METRICS.names() if not is_corpus_metric(METRICS[one])])
WORDS = ["good", "film", "!"]
SCORES = [[0.6, 0.1, 0.3], [-0.2, 0.5, 0.4]]


@pytest.fixture(autouse=True)
def _warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def case(name: str, scores: Any = SCORES, *, gold: tuple[int, ...] = (0,)) -> tuple[Explanation, tuple[Any, ...]]:
    """An explanation of words and the evidence that a metric needs; a rationale is of one label."""
    consumed = METRICS[name].consumes
    rows = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    rows = rows[:1] if Rationale in consumed else rows
    made = explanation(rows, words=WORDS[: rows.shape[1]])
    evidence: dict[type, Any] = {
        Game: lambda: probability(np.linspace(0.5, 2.0, rows.size).reshape(rows.shape)),
        Rationale: lambda: rationale(made, gold),
        Explanation: lambda: explanation(rows[:, ::-1] + 0.1, words=WORDS[: rows.shape[1]]),
    }
    return made, tuple(evidence[kind]() for kind in consumed[1:])


def measure(name: str, made: Explanation, evidence: tuple[Any, ...]) -> Any:
    spec = METRICS[name]
    given = {"boundary": BOUNDARY} if "boundary" in spec.settings else {}
    return spec.function(made, *evidence, **spec.complete_settings(given))


@every_metric
def test_it_gives_one_finite_value_a_target(name: str) -> None:
    made, evidence = case(name)
    values = measure(name, made, evidence)
    assert values.shape == (len(made.targets),)
    assert values.dtype == np.float64
    assert np.isfinite(values).all()


@every_metric
def test_the_same_call_gives_the_same_bytes_and_changes_nothing(name: str) -> None:
    made, evidence = case(name)
    before = made.scores.copy()
    made.scores.flags.writeable = False
    first, second = measure(name, made, evidence), measure(name, made, evidence)
    assert first.tobytes() == second.tobytes()
    assert made.scores.tobytes() == before.tobytes()
    assert not np.shares_memory(first, made.scores)


@every_metric
@pytest.mark.parametrize("scores", [[0.0, 0.0, 0.0], [-1.0, -2.0, -3.0], [1.0], [0.0], [1e-300, 1e300, 0.0]])
def test_odd_explanations_give_a_value_or_nan_and_no_warning(name: str, scores: list[float]) -> None:
    values = measure(name, *case(name, scores))
    assert values.shape == (1,)
    assert np.isfinite(values).all() or np.isnan(values).all()


@every_metric
def test_no_features_give_a_value_or_nan(name: str) -> None:
    values = measure(name, *case(name, np.zeros((1, 0)), gold=()))
    assert values.shape == (1,)


@every_metric
def test_without_a_gold_feature_plausibility_is_undefined_and_says_so(name: str) -> None:
    if Rationale in METRICS[name].consumes:
        assert np.isnan(measure(name, *case(name, gold=()))).all()
        assert "nan" in METRICS[name].summary


@every_metric
def test_it_consumes_an_explanation_and_at_most_one_piece_of_evidence(name: str) -> None:
    consumed = METRICS[name].consumes
    assert consumed[0] is Explanation
    assert len(consumed) <= 2
    assert set(consumed[1:]) <= {Game, Rationale, Explanation}


@every_metric
def test_every_setting_has_a_default_of_its_own_type(name: str) -> None:
    spec = METRICS[name]
    for setting_name, setting in spec.settings.items():
        assert setting.default is not inspect.Parameter.empty, f"{name}.{setting_name} has no default"
        assert setting.parse(setting.default) == setting.default
        assert setting.parse(str(setting.default)) == setting.default


@every_metric
def test_it_says_what_it_is_whose_it_is_and_what_it_costs(name: str) -> None:
    spec = METRICS[name]
    about = inspect.getdoc(spec.function) or ""
    assert spec.summary.endswith(".")
    assert "Reference:" in about
    assert "Cost:" in about
    assert spec.facts["cite"]
    assert isinstance(spec.facts["higher_is_better"], bool)
    assert ("igher is" in about, "ower is" in about) == (
        spec.facts["higher_is_better"],
        not spec.facts["higher_is_better"],
    )
