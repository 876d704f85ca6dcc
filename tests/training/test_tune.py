"""Searching the numbers of a training on tiny models: what is found, resumption, pruning, bounds and refusals."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import optuna
import pytest

import whylight as wl
from whylight.core.errors import InputError, ModelError, SettingError
from whylight.data.dataset import Dataset
from whylight.training import trials, tune as tuning
from whylight.training.folder import claimed_by_one
from whylight.training.recipe import Recipe, make_terms
from whylight.training.search import Watch, parse_search
from whylight.training.trainer import UNMET, ReasonTrainer
from whylight.training.trials import NAME
from whylight.training.tune import Tuned, tune


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Recipe]:
    """The recipes of the trainings that were begun."""
    real, begun = tuning.train, []

    def counted(model: Any, data: Any, dev: Any, asked: Recipe, **options: Any) -> Any:
        begun.append(asked)
        return real(model, data, dev, asked, **options)

    monkeypatch.setattr(tuning, "train", counted)
    return begun


def planted(split: str) -> Dataset:
    return wl.dataset("planted:", split=split, size=16, length=9)


def recipe(*objectives: str, combine: Any = "joint", **numbers: Any) -> Recipe:
    numbers = {"epochs": 1, "batch_size": 8, "learning_rate": 1e-3, **numbers}
    return Recipe(terms=make_terms(objectives, {}, combine=combine), combine=combine, **numbers)


def run(start: Path, out: Path, *search: str, asked: Recipe | None = None, trials: int = 3) -> Tuned:
    both = planted("train"), planted("dev")
    return tune(start, *both, asked or recipe(), out=out, search=search, trials=trials, progress=False)


def study(folder: Path) -> optuna.Study:
    return optuna.load_study(study_name=NAME, storage=f"sqlite:///{folder / 'study.db'}")


def test_a_search_is_made_by_one_process_at_a_time(start: Path, tmp_path: Path) -> None:
    running = tmp_path / "trial-0"
    running.mkdir()
    (tmp_path / "study.db").touch()
    with claimed_by_one(tmp_path), pytest.raises(InputError, match="another process is at work"):
        run(start, tmp_path, "learning_rate=1e-4,1e-3", trials=1)
    assert running.is_dir()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_better_learning_rate_is_found_and_only_its_model_kept(
    start: Path, tmp_path: Path, trained: list[Recipe]
) -> None:
    found = run(start, tmp_path, "learning_rate=1e9,1e-12,3e-3", asked=recipe(epochs=3), trials=5)
    assert len(trained) == 3  # there are no more combinations
    assert [(one.parameters["learning_rate"], one.state) for one in found.trials] == [
        (3e-3, "complete"), (1e-12, "complete"), (1e9, "diverged"),
    ]  # fmt: skip
    assert names(tmp_path) == {"best", "study.db"}
    assert {"config.json", "model.safetensors", "training.json", "curves.svg"} <= names(tmp_path / "best")
    receipt = json.loads((tmp_path / "best" / "training.json").read_text())
    assert receipt == found.receipt
    assert receipt["trial"]["parameters"] == {"learning_rate": 3e-3}
    assert receipt["trial"]["value"] == receipt["validation"]["selection"] == found.trials[0].value
    assert wl.load(found.folder).labels.names == ("negative", "positive")


@pytest.mark.slow
def test_a_stopped_search_goes_on_and_ends_where_an_uninterrupted_one_does(
    start: Path, tmp_path: Path, trained: list[Recipe], monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = ("learning_rate=1e-4:1e-2:log", "batch_size=4:8")
    whole = run(start, tmp_path / "whole", *spans)
    trained.clear()
    real = ReasonTrainer.compute_loss

    def stopping(self: Any, *arguments: Any, **options: Any) -> Any:
        if len(trained) == 2:
            raise KeyboardInterrupt
        return real(self, *arguments, **options)

    part = tmp_path / "part"
    with monkeypatch.context() as patch:
        patch.setattr(ReasonTrainer, "compute_loss", stopping)
        with pytest.raises(KeyboardInterrupt):
            run(start, part, *spans)
    assert [one.state.name for one in study(part).trials] == ["COMPLETE", "FAIL"]
    assert names(part) == {"best", "study.db"}
    found = run(start, part, *spans)
    assert len(trained) == 2 + 2  # the first was not trained again
    assert [one.state.name for one in study(part).trials] == ["COMPLETE", "FAIL", "COMPLETE", "COMPLETE"]
    assert [(one.value, one.parameters) for one in found.trials] == [
        (one.value, one.parameters) for one in whole.trials
    ]

    study(part).ask()  # a kill leaves a trial running, with its checkpoints, ...
    (part / "trial-4" / "checkpoints").mkdir(parents=True)
    (part / "best").rename(part / f"trial-{found.trials[0].number}")  # ... or a model that was not moved yet
    assert run(start, part, *spans).receipt == found.receipt
    assert study(part).trials[-1].state.name == "FAIL"
    assert names(part) == {"best", "study.db"}
    assert len(trained) == 4
    with pytest.raises(InputError, match="holds another search"):
        run(start, part, *spans, asked=recipe(epochs=2))


@pytest.mark.slow
def test_a_trial_worse_than_the_median_is_pruned(start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "STARTUP", 1)
    found = run(start, tmp_path, "learning_rate=3e-3,1e-12", asked=recipe(epochs=3))
    assert [one.state for one in found.trials] == ["complete", "pruned"]
    whole, part = (len(one.intermediate_values) for one in study(tmp_path).trials)
    assert part < whole == 3
    assert names(tmp_path) == {"best", "study.db"}


def test_epochs_are_reported_and_a_hopeless_trial_ends() -> None:
    arguments, state, trial = SimpleNamespace(num_train_epochs=4), SimpleNamespace(epoch=2.0), Mock()
    metrics = {"eval_selection": 3.0, "eval_labels": 1.0, "eval_term_classification": 0.5}
    shares: list[float] = []
    watch = Watch(trial, "term_classification", shares.append)
    trial.should_prune.return_value = False
    watch.on_evaluate(arguments, state, None, metrics)
    trial.report.assert_called_once_with(0.5, step=2)
    assert shares == [0.5]
    trial.should_prune.return_value = True
    with pytest.raises(optuna.TrialPruned):
        watch.on_evaluate(arguments, state, None, metrics)
    with pytest.raises(ModelError, match="not a finite number in epoch 2"):
        watch.on_evaluate(arguments, state, None, {**metrics, "eval_labels": float("inf")})


def test_a_broken_bound_is_a_value_and_no_failure(start: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError):  # a search that came to nothing does not keep its folder
        tune(tmp_path / "none", planted("train"), planted("dev"), recipe(), out=tmp_path / "out", progress=False)
    bounds: dict[str, Any] = {"bound_train": 1e-9, "bound_validation": 1e-9}
    asked = recipe("rationale_attention", combine="constrained", **bounds)
    found = run(start, tmp_path / "out", "multiplier_rate=0.1,1", asked=asked)
    assert [one.state for one in found.trials] == ["complete", "complete"]
    assert all(one.value is not None and one.value > UNMET for one in found.trials)
    assert found.receipt["unmet"]
    wl.load(found.folder / "unmet")


def test_what_was_drawn_before_is_not_trained_again(start: Path, tmp_path: Path, trained: list[Recipe]) -> None:
    found = run(start, tmp_path, "epochs=1:2", trials=5)
    assert len(found.trials) == 5
    assert len(trained) == len({one.value for one in found.trials}) <= 2
    assert found.trials[0].number == found.receipt["trial"]["number"]


def test_a_search_without_a_model_says_why(start: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none of 1 trials gave a model: the .*loss is not a finite number"):
        run(start, tmp_path, "learning_rate=1e9,1e10", asked=recipe(epochs=2), trials=1)


def test_other_refusals(start: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="searched twice"):
        parse_search(["epochs=1:2", "epochs=3:4"], recipe())
    with pytest.raises(SettingError, match="name the batch sizes"):
        parse_search(["batch_size=4:8"], recipe(micro_batch=4))
    with pytest.raises(SettingError, match="cannot be searched with --find-bound"):
        parse_search(["scale=1:2"], recipe("rationale_attention", combine="alone"))
    with pytest.raises(SettingError, match="not searched over a range"):
        parse_search(["published=0:1"], recipe("token_masking"))
    with pytest.raises(SettingError, match="at least one trial"):
        run(start, tmp_path, "epochs=1:2", trials=0)
    (tmp_path / "best").mkdir()
    with pytest.raises(InputError, match="something else"):
        run(start, tmp_path, "epochs=1:2")
    assert names(tmp_path) == {"best"}
