"""Rounds of a search: what is drawn, pruned and found does not depend on how many workers there are, or who dies."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import optuna
import pytest
import torch
from test_seeds import unmeasured

import virtual
import whylight as wl
from whylight.core.errors import SettingError
from whylight.data.dataset import Dataset
from whylight.training import trials
from whylight.training.drawing import Draw, next_round
from whylight.training.recipe import Recipe, make_terms
from whylight.training.search import Watch, parse_search
from whylight.training.tried import Trainer
from whylight.training.tune import Tuned, tune

SPAN = ("learning_rate=1e-4:1e-2:log", "batch_size=4:8")


def planted(split: str) -> Dataset:
    return wl.dataset("planted:", split=split, size=16, length=9)


def recipe(**numbers: Any) -> Recipe:
    return Recipe(terms=make_terms((), {}, combine="joint"), **{"epochs": 2, "batch_size": 8, **numbers})


def run(start: Path, out: Path, *search: str, trials: int = 5, **given: Any) -> Tuned:
    asked = {"search": search or SPAN, "trials": trials, "progress": False, "together": 3, **given}
    return tune(start, planted("train"), planted("dev"), recipe(), out=out, **asked)


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def steps(folder: Path) -> list[Any]:
    study = optuna.load_study(study_name=trials.NAME, storage=f"sqlite:///{folder / 'study.db'}")
    return [(one.number, one.state, one.intermediate_values) for one in study.trials]


def told(found: Tuned) -> list[Any]:
    return [(one.number, one.state, one.value, one.parameters, unmeasured(dict(one.figures))) for one in found.trials]


def kept(folder: Path) -> tuple[Any, bytes]:
    best = folder / "best"
    return unmeasured(json.loads((best / "training.json").read_text())), (best / "model.safetensors").read_bytes()


def test_one_worker_or_three_of_whom_two_die_find_the_same(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "STARTUP", 1)  # trials are pruned from the second round on
    virtual.use(monkeypatch)
    one = run(start, tmp_path / "one", workers=1)
    made = virtual.use(monkeypatch, deaths=2)
    three = run(start, tmp_path / "three", workers=3)
    assert len(made) == 1  # the same workers in all rounds
    assert [order.number for order in made[0].done[:3]] == [2, 2, 2]  # another order, and twice in vain
    assert told(one) == told(three)
    assert steps(tmp_path / "one") == steps(tmp_path / "three")
    assert {own.state for own in one.trials} == {"complete", "pruned"}
    assert kept(tmp_path / "one") == kept(tmp_path / "three")
    assert {path.name for path in (tmp_path / "three").iterdir()} == {"best", "study.db"}


def test_a_trial_that_goes_on_elsewhere_knows_its_epochs() -> None:
    metrics = {"eval_labels": 0.5, "eval_loss": 0.5}
    before = [{"loss": 3.0, "epoch": 0.5}, *({"eval_selection": 2.0 - n, "epoch": 1.0 + n, **metrics} for n in (0, 1))]
    trial, state = Mock(), SimpleNamespace(log_history=before, epoch=3.0)
    trial.should_prune.return_value = False
    watch = Watch(trial, "selection", lambda _: None)
    watch.on_train_begin(None, state, None)
    watch.on_evaluate(SimpleNamespace(num_train_epochs=4), state, None, {"eval_selection": 0.25, **metrics})
    assert [one.args[0] for one in trial.report.call_args_list] == [2.0, 1.0, 0.25]
    assert watch.steps == {1: 2.0, 2: 1.0, 3: 0.25}


def test_a_stopped_round_goes_on_with_the_same_trials(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, real, begun = run(start, tmp_path / "whole"), Trainer.tried, list[Any]()

    def stopping(self: Trainer, order: Any, moved: Any) -> Any:
        begun.append(dict(order.parameters))
        if len(begun) == 2:
            raise KeyboardInterrupt
        return real(self, order, moved)

    monkeypatch.setattr(Trainer, "tried", stopping)
    part = tmp_path / "part"
    with pytest.raises(KeyboardInterrupt, match="the same call resumes from there"):
        run(start, part)
    assert {path.name for path in part.iterdir()} == {"best", "study.db"}
    with_waiting = optuna.load_study(study_name=trials.NAME, storage=f"sqlite:///{part / 'study.db'}")
    with_waiting.enqueue_trial(begun[1], user_attrs={"place": 1, "knows": 0})  # a kill may leave that
    found = run(start, part)
    assert [one[1:] for one in told(found)] == [one[1:] for one in told(whole)]  # with other numbers
    assert begun[2] == begun[1]
    assert len(begun) == 2 + 4


def test_what_a_round_draws_twice_is_trained_once(start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = virtual.use(monkeypatch)
    found = run(start, tmp_path, "epochs=1:2", workers=2, trials=6)
    assert len(found.trials) == 6
    assert len(made[0].done) == len({one.value for one in found.trials}) == 2
    assert found.trials[0].number == found.receipt["trial"]["number"]


def drawn(values: Any, *, together: int, most: int = 16, seed: int = 7) -> list[Draw]:
    """Draw all rounds of a search whose trials need no training."""
    space, study, found = parse_search(SPAN, recipe()), optuna.create_study(), list[Draw]()
    while draws := next_round(study, space, seed=seed, most=most, together=together):
        found += draws
        for draw in draws:
            study.enqueue_trial(dict(draw.parameters), user_attrs={"place": draw.place, "knows": draw.knows})
            study.tell(study.ask(dict(space)), values(draw.parameters))
    return found


def loss(parameters: Any) -> float:
    return float((np.log10(parameters["learning_rate"]) + 3) ** 2 + parameters["batch_size"])


def test_rounds_of_one_are_what_optuna_draws_one_by_one() -> None:
    space, study = parse_search(SPAN, recipe()), optuna.create_study()
    for place in range(16):
        stream = np.random.SeedSequence((7, place)).generate_state(1)
        study.sampler = optuna.samplers.TPESampler(seed=int(stream[0]))
        trial = study.ask(dict(space))
        study.tell(trial, loss(trial.params))
    assert [draw.parameters for draw in drawn(loss, together=1)] == [one.params for one in study.trials]
    assert [draw.knows for draw in drawn(loss, together=1)] == [*range(16)]


def test_a_round_knows_the_rounds_before_and_no_other() -> None:
    four = drawn(loss, together=4)
    assert [draw.knows for draw in four] == [place - place % 4 for place in range(16)]
    assert [draw.place for draw in four] == [*range(16)]
    # what the last round gave is known to nobody
    seen: list[int] = []

    def other(parameters: Any) -> float:
        seen.append(0)
        return loss(parameters) if len(seen) <= 12 else 99.0

    assert [draw.parameters for draw in drawn(other, together=4)] == [draw.parameters for draw in four]
    assert len(drawn(loss, together=100)) == 16


def test_more_workers_than_trials_of_a_round_are_refused(start: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"9 workers have no work for all.*give --together 9, or fewer workers"):
        run(start, tmp_path, workers=9, together=None)
    with pytest.raises(SettingError, match="at least one trial is drawn at once, not 0"):
        run(start, tmp_path, together=0)
