"""Searching the numbers of a training on tiny models: what is found, resumption, pruning, bounds and refusals."""

import json
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import optuna
import pytest

import whylight as wl
from whylight.cli.main import run as command_line
from whylight.cli.tune import repeat
from whylight.core.errors import InputError, ModelError, SettingError
from whylight.data.dataset import Dataset
from whylight.training import trials, tune as tuning
from whylight.training.figures import BY_DOCUMENT
from whylight.training.folder import claimed_by_one
from whylight.training.recipe import Recipe, make_terms
from whylight.training.search import Watch, changed, every_point, minimised_number, parse_search, validation_number
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


@pytest.mark.parametrize(
    ("objectives", "combine", "search", "single", "several"),
    [
        ((), "joint", "learning_rate=1:2", "selection", "selection"),
        (("rationale_attention",), "joint", "rationale_attention=1:2", "term_classification", "selection"),
        (("rationale_attention",), "joint", "scale=1:2", "term_classification", "selection"),
        (("rationale_attention",), "constrained", "rationale_attention=1:2", "selection", "selection"),
        (("rationale_attention",), "constrained", "classification=1:2", "term_classification", "term_classification"),
        (("token_masking",), "joint", "beta=0.1:1", "accuracy", "selection"),
        (("token_masking", "rationale_attention"), "constrained", "beta=0.1:1", "accuracy", BY_DOCUMENT),
        (("rationale_attention",), "alone", "epochs=1:2", "selection", "selection"),
    ],
)
def test_numbers_of_different_trials_can_be_compared(
    objectives: tuple[str, ...], combine: Any, search: str, single: str, several: str
) -> None:
    asked = recipe(*objectives, combine=combine, bound_train=1.0, bound_validation=1.0)
    space = parse_search([search], asked)
    assert minimised_number(asked, space, multi_label=False) == single
    assert minimised_number(asked, space, multi_label=True) == several
    assert validation_number({"selection": 1.0, "accuracy": 0.8}, "accuracy") == -0.8
    assert (
        validation_number({"selection": UNMET + 1, "accuracy": 0.8}, "accuracy") == UNMET + 1
    )  # worse than any that is kept


def test_what_is_drawn_goes_where_its_name_says() -> None:
    drawn = {"learning_rate": 1e-4, "rationale_attention": 7.0, "epsilon": 0.5, "criterion": "kl", "batch_size": 16}
    asked = changed(recipe("rationale_attention", "rationale_rollout=2", "adversarial_noise"), drawn)
    terms = {term.name: term for term in asked.terms}
    assert (asked.learning_rate, asked.batch_size, asked.epochs) == (1e-4, 16, 1)
    assert [term.weight for term in asked.terms] == [1.0, 7.0, 2.0, 0.5]
    assert terms["adversarial_noise"].settings["epsilon"] == 0.5
    assert (
        terms["rationale_attention"].settings["criterion"] == terms["rationale_rollout"].settings["criterion"] == "kl"
    )


def test_combinations_are_listed_if_they_are_few() -> None:
    space = parse_search(["criterion=mae,kl", "epochs=1,2"], recipe("rationale_attention"))
    assert [len(every_point(space, at_most=number)) for number in (4, 3)] == [4, 0]
    assert every_point(parse_search(["epochs=1:2"], recipe()), at_most=9) == []


@pytest.mark.parametrize(
    ("search", "sentence"),
    [
        ("learning_rat=1:2", "unknown name to search 'learning_rat'. Did you mean 'learning_rate'"),
        ("epsilon=1:2", "unknown name to search 'epsilon'"),
        ("rationale_rollout=1:2", "no objective of this training"),
        ("learning_rate=2:1", "must rise: 2 is not below 1"),
        ("rationale_attention=0:1:log", "must start above 0 to be logarithmic, not at 0"),
        ("learning_rate=0:1", "'learning_rate' must be above 0"),
        ("rationale_attention=-1:1", "the weight of 'rationale_attention' must be 0 or more"),
        ("classification=0:1", "the weight of 'classification' must be above 0"),
        ("epochs=1.5:2", "takes a whole number"),
        ("learning_rate=1e-4", "--search takes"),
        ("criterion=1:2", "unknown value for 'criterion'"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused_in_one_sentence(search: str, sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        parse_search([search], recipe("rationale_attention"))


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


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["whylight", *arguments])
    with pytest.raises(SystemExit) as stopped:
        command_line()
    return int(stopped.value.code or 0)


def test_the_command_line_searches_and_says_how_to_repeat_the_best(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    asked = ["tune", "--model", str(start), "--data", "planted:", "--data-set", "size=16", "--epochs", "1", "--trials",
             "2", "--search", "rationale_attention=0.1:10:log", "--out", str(tmp_path / "out")]  # fmt: skip
    assert call(monkeypatch, *asked) == 0
    printed = capsys.readouterr().out
    assert "2 trials, the best in" in printed
    assert "totals of different ones cannot be compared" in " ".join(printed.split())
    command = shlex.split(printed.split("To repeat the best one: ")[1])
    assert call(monkeypatch, *command[1:]) == 0
    again = json.loads((tmp_path / "out" / "again" / "training.json").read_text())
    best = json.loads((tmp_path / "out" / "best" / "training.json").read_text())
    assert again["training"] == best["training"]
    assert again["validation"]["labels"] == best["validation"]["labels"]
    capsys.readouterr()
    assert call(monkeypatch, *asked, "--format", "json") == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["value"] for record in records] == sorted(record["term_classification"] for record in records)


def test_the_command_that_repeats_a_trial() -> None:
    options = {"data": "a b.jsonl", "out": Path("x"), "objective": ["adversarial_noise", "classification=2"],
               "settings": ["steps=3", "epsilon=1"], "data_settings": None, "find_bound": False, "seed": 4,
               "learning_rate": 5e-5}  # fmt: skip
    drawn = {"learning_rate": 1.25e-05, "adversarial_noise": 0.3, "epsilon": 0.01}
    assert repeat(options, drawn) == (
        f"whylight train --data 'a b.jsonl' --out {Path('x') / 'again'} --objective adversarial_noise=0.3 "
        "--objective classification=2 --learning-rate 1.25e-05 --seed 4 --set steps=3 --set epsilon=0.01"
    )


def test_without_optuna_one_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    for name in ("whylight.training.tune", "whylight.training.search"):
        monkeypatch.delitem(sys.modules, name)
    assert call(monkeypatch, "tune", "--data", "planted:", "--out", str(tmp_path / "out")) == 2
    assert capsys.readouterr().err.strip().endswith("install whylight[tune].")
