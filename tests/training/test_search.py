"""What a search may draw: numbers of trials that can be compared, names, combinations, and what makes no sense."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from test_tune import recipe

from whylight.cli.main import run as command_line
from whylight.cli.tune import repeat
from whylight.core.errors import SettingError
from whylight.training.figures import BY_DOCUMENT
from whylight.training.search import changed, every_point, minimised_number, parse_search, validation_number
from whylight.training.trainer import UNMET


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
    by_workers = repeat({**options, "engine": "local", "workers": 2, "address": None}, drawn)
    assert by_workers == f"OMP_NUM_THREADS=1 {repeat(options, drawn)}"


def test_without_optuna_one_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    for name in ("whylight.training.tune", "whylight.training.search"):
        monkeypatch.delitem(sys.modules, name)
    assert call(monkeypatch, "tune", "--data", "planted:", "--out", str(tmp_path / "out")) == 2
    assert capsys.readouterr().err.strip().endswith("install whylight[tune].")
